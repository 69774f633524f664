fn main() {
    for name in std::env::args().skip(1) {
        let spec = roci_kernels::find(&name).unwrap_or_else(|_| panic!("{name}"));
        match spec.module() {
            Ok(module) => match module.spirv(&Default::default()) {
                Ok(words) => {
                    println!("ok {name} {} words", words.len());
                    if let Ok(dir) = std::env::var("EMIT") {
                        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                        std::fs::write(format!("{dir}/{name}.spv"), bytes).unwrap();
                    }
                }
                Err(error) => println!("{name}: {error}"),
            },
            Err(error) => println!("{name}: {error}"),
        }
    }
}
