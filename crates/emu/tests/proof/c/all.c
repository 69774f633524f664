// All kernels, so that one call of the compiler builds them.
#include "prelude.h"
#include "control.c"
#include "floats.c"
#include "integers.c"
#include "memory.c"
#include "waves.c"
