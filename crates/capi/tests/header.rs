//! The committed header is the one that is generated from the source.

use std::path::Path;

#[test]
fn the_committed_header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("a well-formed configuration");
    let bindings = cbindgen::Builder::new().with_crate(folder).with_config(config).generate().expect("the source can be read");
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = String::from_utf8(made).expect("text");

    let path = folder.join("include/everypath.h");
    if std::env::var_os("EVERYPATH_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == made, "include/everypath.h is out of date; run: EVERYPATH_BLESS=1 cargo test -p capi");
}
