// All kernels in one file, compiled by a single compiler call.
#include "prelude.h"
#include "control.c"
#include "floats.c"
#include "integers.c"
#include "memory.c"
#include "waves.c"
