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
                /// Opaque value.
                pub handle: u64,
            }

            impl $name {
                /// The null handle.
                pub const NULL: Self = Self { handle: 0 };

                /// Whether this is the null handle.
                pub const fn is_null(self) -> bool {
                    self.handle == 0
                }
            }
        )*

        /// C names of all handle types, with size and alignment of the Rust types.
        pub const HANDLES: &[(&str, usize, usize)] = &[$(($c_type, size_of::<$name>(), align_of::<$name>())),*];
    };
}

handles! {
    /// A CPU, GPU or other device.
    Agent as "hsa_agent_t";
    /// A cache of an agent.
    Cache as "hsa_cache_t";
    /// A signal: the address of an [`AmdSignal`](super::AmdSignal), which clients and devices read
    /// and write directly.
    Signal as "hsa_signal_t";
    /// A group of signals to wait for.
    SignalGroup as "hsa_signal_group_t";
    /// Memory of an agent in the core API; [`MemoryPool`] is AMD's extended view of the same.
    Region as "hsa_region_t";
    /// Memory pool of an agent.
    MemoryPool as "hsa_amd_memory_pool_t";
    /// Physical memory that can be mapped at reserved addresses.
    VmemAllocHandle as "hsa_amd_vmem_alloc_handle_t";
    /// An instruction set architecture.
    Isa as "hsa_isa_t";
    /// A wavefront type of an instruction set architecture.
    Wavefront as "hsa_wavefront_t";
    /// Provides the bytes of a code object to the loader.
    CodeObjectReader as "hsa_code_object_reader_t";
    /// A code object of the legacy loader (HSA 1.0).
    CodeObject as "hsa_code_object_t";
    /// A kernel or a variable of a [`CodeObject`].
    CodeSymbol as "hsa_code_symbol_t";
    /// User data of a callback.
    CallbackData as "hsa_callback_data_t";
    /// HSAIL program for a finalizer; AMD's runtime no longer has one.
    ExtProgram as "hsa_ext_program_t";
    /// A set of loaded code objects that are linked together.
    Executable as "hsa_executable_t";
    /// A code object that is loaded in an executable.
    LoadedCodeObject as "hsa_loaded_code_object_t";
    /// A kernel or a variable of an executable.
    ExecutableSymbol as "hsa_executable_symbol_t";
    /// An image.
    ExtImage as "hsa_ext_image_t";
    /// A sampler.
    ExtSampler as "hsa_ext_sampler_t";
}
