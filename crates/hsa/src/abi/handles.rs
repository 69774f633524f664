//! Handles: 64 opaque bits each. Zero is never a live object.

/// Declares a handle type.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident as $c_type:literal;)*) => {
        $(
            $(#[$doc])*
            #[doc = concat!("\n\nIn C: `", $c_type, "`.")]
            #[repr(C)]
            #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
            pub struct $name {
                /// The opaque bits.
                pub handle: u64,
            }

            impl $name {
                /// The handle that names nothing.
                pub const NULL: Self = Self { handle: 0 };

                /// Whether it names nothing.
                pub const fn is_null(self) -> bool {
                    self.handle == 0
                }
            }
        )*

        /// The names in C of all handle types, with their sizes and alignments here.
        pub const HANDLES: &[(&str, usize, usize)] = &[$(($c_type, size_of::<$name>(), align_of::<$name>())),*];
    };
}

handles! {
    /// A CPU, a GPU or another device that the runtime knows.
    Agent as "hsa_agent_t";
    /// A cache of an agent.
    Cache as "hsa_cache_t";
    /// A signal: the address of an [`AmdSignal`](super::AmdSignal), which clients and devices read and write directly.
    Signal as "hsa_signal_t";
    /// Several signals to wait for.
    SignalGroup as "hsa_signal_group_t";
    /// Memory of an agent, as the core API names it; [`MemoryPool`] is AMD's richer view of the same.
    Region as "hsa_region_t";
    /// Memory of an agent from which to allocate.
    MemoryPool as "hsa_amd_memory_pool_t";
    /// Physical memory that is mapped to reserved addresses.
    VmemAllocHandle as "hsa_amd_vmem_alloc_handle_t";
    /// An instruction set architecture.
    Isa as "hsa_isa_t";
    /// A wavefront type of an instruction set architecture.
    Wavefront as "hsa_wavefront_t";
    /// Gives a code object's bytes to the loader.
    CodeObjectReader as "hsa_code_object_reader_t";
    /// A code object in memory, as the first version of the loader knew them.
    CodeObject as "hsa_code_object_t";
    /// A kernel or a variable of a [`CodeObject`].
    CodeSymbol as "hsa_code_symbol_t";
    /// What a client wants to have back in a callback.
    CallbackData as "hsa_callback_data_t";
    /// Code of the virtual machine that a finalizer would translate; no GPU of this project has one.
    ExtProgram as "hsa_ext_program_t";
    /// Loaded code objects that are linked with each other.
    Executable as "hsa_executable_t";
    /// One code object in an executable.
    LoadedCodeObject as "hsa_loaded_code_object_t";
    /// A kernel or a variable of an executable.
    ExecutableSymbol as "hsa_executable_symbol_t";
    /// An image.
    ExtImage as "hsa_ext_image_t";
    /// A sampler.
    ExtSampler as "hsa_ext_sampler_t";
}
