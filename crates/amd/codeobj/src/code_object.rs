//! Code objects: ELF files that contain AMD GPU code.

use std::collections::HashMap;

use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader, SectionTable, Sym};

use crate::string_table::StringTable;
use crate::{Error, KernelDescriptor, KernelMetadata, Metadata, Mismatch, Processor, Setting, TargetId};

type Header = elf::FileHeader64<LittleEndian>;
type Sections<'data> = SectionTable<'data, Header>;

const LE: LittleEndian = LittleEndian;
/// `EM_AMDGPU`.
pub(crate) const MACHINE: u16 = 224;
const ABI_HSA: u8 = 64;
/// Limit on loadable segments, because an address lookup scans all of them. Linkers write four or
/// five.
const MAX_SEGMENTS: usize = 64;
/// `NT_AMDGPU_METADATA`.
const NOTE_METADATA: u32 = 32;

/// A linked code object of version 3 to 6 for the HSA runtime. It borrows the file's bytes.
#[derive(Clone, Debug)]
pub struct CodeObject<'data> {
    version: u32,
    flags: u32,
    target: TargetId,
    generic_version: u8,
    segments: Vec<Segment<'data>>,
    symbols: Vec<Symbol<'data>>,
    local_symbols: Vec<Symbol<'data>>,
    by_name: HashMap<&'data str, usize>,
    relocations: Vec<Relocation>,
    metadata: Metadata,
    kernels: Vec<Kernel>,
}

/// A loadable segment (`PT_LOAD`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segment<'data> {
    /// Offset from the load address of the code object.
    pub address: u64,
    /// Size in memory, in bytes. The bytes beyond `data` are zero.
    pub size: u64,
    /// Initial contents.
    pub data: &'data [u8],
    /// Whether the segment contains code (`PF_X`).
    pub executable: bool,
    /// Whether the segment is writable (`PF_W`).
    pub writable: bool,
}

/// An ELF symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Symbol<'data> {
    /// Symbol name, mangled.
    pub name: &'data str,
    /// Offset from the load address of the code object; `None` if another code object must define
    /// it.
    pub address: Option<u64>,
    /// Size in bytes.
    pub size: u64,
    /// Alignment of the symbol's section; 0 if it has no section.
    pub alignment: u64,
    /// Symbol type (`STT_*`).
    pub kind: SymbolKind,
    /// Whether the symbol is weak: it may stay undefined.
    pub weak: bool,
}

/// The type of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SymbolKind {
    /// `STT_FUNC`: code.
    Function,
    /// `STT_OBJECT`: a variable or a kernel descriptor.
    Object,
    /// Any other type.
    Other,
}

/// A relocation that the loader applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Relocation {
    /// Where to apply it: offset from the load address of the code object.
    pub address: u64,
    /// Relocation type, an `R_AMDGPU_*` number.
    pub kind: u32,
    /// Index into [`CodeObject::symbols`]; `None` for the null symbol.
    pub symbol: Option<usize>,
    /// Constant added to the symbol's address.
    pub addend: i64,
}

/// A kernel of a code object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel {
    /// Mangled name.
    pub name: String,
    /// Address of the descriptor, as an offset from the load address of the code object.
    pub descriptor_address: u64,
    /// The kernel descriptor, decoded.
    pub descriptor: KernelDescriptor,
    /// Address of the first instruction, as an offset from the load address of the code object.
    pub entry: u64,
    /// Size of the machine code in bytes, if a symbol gives it.
    pub code_size: Option<u64>,
    /// Metadata that the compiler wrote for this kernel.
    pub metadata: Option<KernelMetadata>,
}

impl Kernel {
    /// Size of the kernarg segment in bytes: the larger of the metadata's and the descriptor's
    /// value.
    pub fn kernarg_size(&self) -> u64 {
        let stated = self.metadata.as_ref().map(|metadata| metadata.kernarg_segment_size);
        stated.unwrap_or_default().max(self.descriptor.kernarg_size.into())
    }
}

/// The fields of the ELF header that identify the code.
pub(crate) struct HeaderFields {
    version: u32,
    flags: u32,
    pub(crate) target: TargetId,
    pub(crate) generic_version: u8,
}

impl HeaderFields {
    /// Reads the ELF header; `bytes` must contain at least its 64 bytes.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let header = Header::parse(bytes).map_err(damaged)?;
        if !header.is_little_endian() {
            return Err(Error::Elf("it is big-endian".into()));
        }
        if header.e_machine(LE).0 != MACHINE {
            return Err(Error::Machine(header.e_machine(LE).0));
        }
        let version = version(header.e_ident())?;
        if header.e_type(LE) != elf::ET_DYN {
            return Err(Error::NotLinked);
        }
        let flags = header.e_flags(LE).0;
        let generic_version = if version >= 6 { (flags >> 24) as u8 } else { 0 };
        Ok(Self { version, flags, target: target(flags, version)?, generic_version })
    }
}

/// Whether code for `target` runs on `device`. `generic_version` counts only for generic targets.
pub(crate) fn runs_on(target: TargetId, generic_version: u8, device: &TargetId) -> Result<(), Mismatch> {
    target.runs_on(device)?;
    let code = target.processor;
    // Version 1 of each generic target covers all of its chips.
    if code.is_generic() && generic_version == 0 {
        return Err(Mismatch::GenericVersion { code, version: 0, device: device.processor });
    }
    Ok(())
}

impl<'data> CodeObject<'data> {
    /// Parses and checks a whole code object.
    pub fn parse(bytes: &'data [u8]) -> Result<Self, Error> {
        let HeaderFields { version, flags, target, generic_version } = HeaderFields::parse(bytes)?;
        let header = Header::parse(bytes).map_err(damaged)?;
        let sections = header.sections(LE, bytes).map_err(damaged)?;
        let (symbols, local_symbols) = (symbols(bytes, &sections, true)?, symbols(bytes, &sections, false)?);
        let metadata = metadata(header, bytes, &sections)?;
        let mut object = Self {
            version,
            flags,
            target,
            generic_version,
            segments: segments(header, bytes)?,
            by_name: symbols.iter().enumerate().map(|(index, symbol)| (symbol.name, index)).collect(),
            relocations: relocations(bytes, &sections, symbols.len())?,
            symbols,
            local_symbols,
            metadata,
            kernels: Vec::new(),
        };
        object.kernels = object.find_kernels()?;
        Ok(object)
    }

    /// Code object version, 3 to 6.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// `e_flags` of the ELF header.
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// The target that the code was compiled for.
    pub fn target(&self) -> TargetId {
        self.target
    }

    /// Version of the generic target; 0 if the code is for a single chip.
    pub fn generic_version(&self) -> u8 {
        self.generic_version
    }

    /// Whether the code runs on `device`, by [`TargetId::runs_on`]. Generic code must have a
    /// version as well.
    pub fn runs_on(&self, device: &TargetId) -> Result<(), Mismatch> {
        runs_on(self.target, self.generic_version, device)
    }

    /// The loadable segments.
    pub fn segments(&self) -> &[Segment<'data>] {
        &self.segments
    }

    /// The dynamic symbols (`.dynsym`), which the loader uses.
    pub fn symbols(&self) -> &[Symbol<'data>] {
        &self.symbols
    }

    /// The symbols of `.symtab`, for debuggers. A stripped code object has none.
    pub fn local_symbols(&self) -> &[Symbol<'data>] {
        &self.local_symbols
    }

    /// The dynamic symbol of this name.
    pub fn symbol(&self, name: &str) -> Option<&Symbol<'data>> {
        self.by_name.get(name).and_then(|&index| self.symbols.get(index))
    }

    /// The relocations of loaded sections.
    pub fn relocations(&self) -> &[Relocation] {
        &self.relocations
    }

    /// Metadata that the compiler wrote for the code object.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// In metadata order, followed by kernels without metadata.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Finds a kernel by its name or by its descriptor symbol (`name.kd`).
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        let short = name.strip_suffix(".kd").unwrap_or(name);
        self.kernels.iter().find(|kernel| kernel.name == name || kernel.name == short)
    }

    /// The `size` bytes of file data at `address`, an offset from the load address of the code
    /// object.
    pub fn data_at(&self, address: u64, size: u64) -> Option<&'data [u8]> {
        self.segments.iter().find_map(|segment| {
            let start = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            segment.data.get(start..start.checked_add(usize::try_from(size).ok()?)?)
        })
    }

    fn find_kernels(&self) -> Result<Vec<Kernel>, Error> {
        let mut kernels = Vec::new();
        let mut described = std::collections::HashSet::new();
        for metadata in &self.metadata.kernels {
            let symbol = match metadata.symbol.as_str() {
                "" => format!("{}.kd", metadata.name),
                symbol => symbol.to_owned(),
            };
            let missing = || Error::Kernel { kernel: metadata.name.clone(), reason: "has no descriptor" };
            let (&name, &index) = self.by_name.get_key_value(symbol.as_str()).ok_or_else(missing)?;
            if described.insert(name) {
                kernels.push(self.read_kernel(&metadata.name, &self.symbols[index], Some(metadata))?);
            }
        }
        for symbol in &self.symbols {
            let name = symbol.name.strip_suffix(".kd").filter(|_| symbol.kind == SymbolKind::Object);
            if let Some(name) = name.filter(|_| described.insert(symbol.name)) {
                kernels.push(self.read_kernel(name, symbol, None)?);
            }
        }
        Ok(kernels)
    }

    fn read_kernel(&self, name: &str, symbol: &Symbol, metadata: Option<&KernelMetadata>) -> Result<Kernel, Error> {
        let wrong = |reason| Error::Kernel { kernel: name.to_owned(), reason };
        let address = symbol.address.ok_or_else(|| wrong("has an undefined descriptor symbol"))?;
        let bytes = self.data_at(address, KernelDescriptor::SIZE as u64);
        let bytes =
            bytes.and_then(|bytes| bytes.first_chunk()).ok_or_else(|| wrong("has a descriptor outside the file"))?;
        let descriptor = KernelDescriptor::parse(bytes);
        let entry = address.wrapping_add_signed(descriptor.entry_offset);
        let holds = |segment: &Segment| {
            let offset = entry.checked_sub(segment.address);
            segment.executable && offset.is_some_and(|offset| offset < segment.data.len() as u64)
        };
        if !self.segments.iter().any(holds) {
            return Err(wrong("has an entry point outside the code"));
        }
        let code = self.symbol(name).filter(|code| code.address == Some(entry) && code.size > 0);
        Ok(Kernel {
            name: name.to_owned(),
            descriptor_address: address,
            descriptor,
            entry,
            code_size: code.map(|code| code.size),
            metadata: metadata.cloned(),
        })
    }
}

pub(crate) fn damaged(error: object::read::Error) -> Error {
    Error::Elf(error.to_string())
}

/// Code object version, derived from the ABI version of the ELF header.
fn version(ident: &elf::Ident) -> Result<u32, Error> {
    match ident.os_abi.0 {
        ABI_HSA => {}
        65 => return Err(Error::Abi("PAL")),
        66 => return Err(Error::Abi("Mesa 3D")),
        _ => return Err(Error::Abi("an unknown OS ABI")),
    }
    let version = u32::from(ident.abi_version) + 2;
    if (3..=6).contains(&version) { Ok(version) } else { Err(Error::Version(version)) }
}

/// The target encoded in `e_flags`.
fn target(flags: u32, version: u32) -> Result<TargetId, Error> {
    let number = (flags & 0xff) as u8;
    let processor = Processor::from_number(number).ok_or(Error::Processor(number))?;
    // Version 3 has one bit per feature. Version 4 and later have two, so that a feature can be
    // unspecified.
    let setting = |supported: bool, old_bit: u32, new_shift: u32| match (supported, version, flags >> new_shift & 3) {
        (false, ..) => Setting::Any,
        (true, 3, _) if flags & old_bit != 0 => Setting::On,
        (true, 3, _) => Setting::Off,
        (true, _, 2) => Setting::Off,
        (true, _, 3) => Setting::On,
        (true, ..) => Setting::Any,
    };
    // In version 3 the xnack bit records how the code was compiled. Compilers set it by default,
    // also for chips that run with xnack off; such code runs either way.
    let xnack = match setting(processor.supports_xnack(), 0x100, 8) {
        Setting::On if version == 3 => Setting::Any,
        other => other,
    };
    let sramecc = setting(processor.supports_sramecc(), 0x200, 10);
    Ok(TargetId { processor, sramecc, xnack })
}

fn segments<'data>(header: &Header, bytes: &'data [u8]) -> Result<Vec<Segment<'data>>, Error> {
    let headers = header.program_headers(LE, bytes).map_err(damaged)?;
    let loaded = headers.iter().filter(|segment| segment.p_type(LE) == elf::PT_LOAD);
    if loaded.clone().count() > MAX_SEGMENTS {
        return Err(Error::Elf(format!("it has more than {MAX_SEGMENTS} segments")));
    }
    loaded
        .map(|segment| {
            let data = segment.data(LE, bytes).map_err(|()| Error::Elf("a segment is outside the file".into()))?;
            let (address, size) = (segment.p_vaddr(LE), segment.p_memsz(LE));
            if size < data.len() as u64 || address.checked_add(size).is_none() {
                return Err(Error::Elf("a segment has an invalid size".into()));
            }
            let flags = segment.p_flags(LE);
            Ok(Segment {
                address,
                size,
                data,
                executable: flags.contains(elf::PF_X),
                writable: flags.contains(elf::PF_W),
            })
        })
        .collect()
}

/// Reads `.dynsym` (`dynamic`) or `.symtab`.
fn symbols<'data>(bytes: &'data [u8], sections: &Sections<'data>, dynamic: bool) -> Result<Vec<Symbol<'data>>, Error> {
    let section_type = if dynamic { elf::SHT_DYNSYM } else { elf::SHT_SYMTAB };
    let Some(section) = sections.iter().find(|section| section.sh_type(LE) == section_type) else {
        return Ok(Vec::new());
    };
    let table: &[elf::Sym64<LittleEndian>] = section.data_as_array(LE, bytes).map_err(damaged)?;
    let strings = sections.section(section.link(LE)).map_err(damaged)?;
    let mut names = StringTable::new(strings.data(LE, bytes).map_err(damaged)?, bytes.len());
    let read = |symbol: &elf::Sym64<LittleEndian>| {
        let section_index = object::SectionIndex(symbol.st_shndx(LE).0.into());
        Ok(Symbol {
            name: names.get(symbol.st_name(LE))?,
            address: (symbol.st_shndx(LE) != elf::SHN_UNDEF).then(|| symbol.st_value(LE)),
            size: symbol.st_size(LE),
            alignment: sections.section(section_index).map_or(0, |section| section.sh_addralign(LE)),
            kind: match symbol.st_type() {
                elf::STT_FUNC => SymbolKind::Function,
                elf::STT_OBJECT => SymbolKind::Object,
                _ => SymbolKind::Other,
            },
            weak: symbol.st_bind() == elf::STB_WEAK,
        })
    };
    // Keep the null symbol at index 0: relocations count from it.
    table.iter().map(read).collect()
}

fn relocations(bytes: &[u8], sections: &Sections, symbols: usize) -> Result<Vec<Relocation>, Error> {
    let mut relocations = Vec::new();
    for section in sections.iter() {
        if section.sh_type(LE) == elf::SHT_REL {
            return Err(Error::Elf("it has REL relocations; AMD GPU code uses only RELA".into()));
        }
        // A loader ignores sections that are not loaded (`--emit-relocs`, debug information).
        if section.sh_type(LE) != elf::SHT_RELA || !section.sh_flags(LE).contains(elf::SHF_ALLOC) {
            continue;
        }
        let table: &[elf::Rela64<LittleEndian>] = section.data_as_array(LE, bytes).map_err(damaged)?;
        for relocation in table {
            let symbol = relocation.r_sym(LE, false) as usize;
            if symbol >= symbols.max(1) {
                return Err(Error::Elf(format!("a relocation refers to symbol {symbol} of {symbols}")));
            }
            relocations.push(Relocation {
                address: relocation.r_offset(LE),
                kind: relocation.r_type(LE, false).0,
                symbol: (symbol != 0).then_some(symbol),
                addend: relocation.r_addend(LE),
            });
            // Overlapping tables could yield more relocations than the file has room for.
            if relocations.len() > bytes.len() / size_of::<elf::Rela64<LittleEndian>>() {
                return Err(Error::Elf("its relocation tables overlap".into()));
            }
        }
    }
    Ok(relocations)
}

fn metadata(header: &Header, bytes: &[u8], sections: &Sections) -> Result<Metadata, Error> {
    let headers = header.program_headers(LE, bytes).map_err(damaged)?;
    let by_segment = headers.iter().map(|segment| segment.notes(LE, bytes));
    let by_section = sections.iter().map(|section| section.notes(LE, bytes));
    for notes in by_segment.chain(by_section) {
        let Some(mut notes) = notes.map_err(damaged)? else { continue };
        while let Some(note) = notes.next().map_err(damaged)? {
            if note.n_type(LE).0 == NOTE_METADATA && note.name() == b"AMDGPU" {
                return Metadata::parse(note.desc());
            }
        }
    }
    Ok(Metadata::default())
}
