//! The grammar of device URIs.

use super::{DeviceSelector, DeviceUri, Selection, UriError, UriErrorKind};

pub(super) fn parse(text: &str) -> Result<DeviceUri, UriError> {
    let fail = |reason| UriError::new(text, reason);
    let (address, query) = match text.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (text, None),
    };
    let (scheme, path) = match address.split_once(':') {
        Some((scheme, path)) => (scheme, Some(path)),
        None => (address, None),
    };
    if !is_scheme(scheme) {
        return Err(fail(UriErrorKind::BadScheme));
    }
    let selection = path.map_or(Ok(Selection::Default), selection).map_err(fail)?;
    let parameters = query.map_or(Ok(Vec::new()), parameters).map_err(fail)?;
    Ok(DeviceUri::from_parts(scheme.into(), selection, parameters))
}

/// Whether a text is a valid scheme.
pub(super) fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn selection(path: &str) -> Result<Selection, UriErrorKind> {
    let path = path.strip_prefix("//").or_else(|| path.strip_prefix('/')).unwrap_or(path);
    match path {
        "" => return Err(UriErrorKind::EmptyPath),
        "*" => return Ok(Selection::All),
        _ => {}
    }
    let mut items: Vec<DeviceSelector> = Vec::new();
    let mut rest = path.split(',').peekable();
    while let Some(text) = rest.next() {
        let item = match text {
            "" if rest.peek().is_none() => return Err(UriErrorKind::TrailingComma),
            "" => return Err(UriErrorKind::EmptyItem),
            "*" => return Err(UriErrorKind::StarInList),
            _ => item(text)?,
        };
        if items.iter().any(|earlier| same_device(earlier, &item)) {
            return Err(UriErrorKind::Repeated(text.into()));
        }
        items.push(item);
    }
    Ok(Selection::List(items))
}

/// Whether two selectors are known to name the same device. Two equal chip names create two
/// devices.
fn same_device(a: &DeviceSelector, b: &DeviceSelector) -> bool {
    match (a, b) {
        (DeviceSelector::Uuid(a), DeviceSelector::Uuid(b)) => a.eq_ignore_ascii_case(b),
        (DeviceSelector::Target(_), DeviceSelector::Target(_)) => false,
        _ => a == b,
    }
}

fn item(text: &str) -> Result<DeviceSelector, UriErrorKind> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number of digits only fails to parse if it is too large.
        return text.parse().map(DeviceSelector::Ordinal).map_err(|_| UriErrorKind::OrdinalOverflow(text.into()));
    }
    name(text).ok_or_else(|| UriErrorKind::BadItem(text.into()))
}

/// Parses a selector by its prefix.
fn name(text: &str) -> Option<DeviceSelector> {
    if let Some(address) = text.strip_prefix("pci/") {
        return address.parse().ok().map(DeviceSelector::Pci);
    }
    if let Some(id) = text.strip_prefix("GPU-") {
        let legal = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        return legal.then(|| DeviceSelector::Uuid(text.into()));
    }
    let rest = text.strip_prefix("gfx")?;
    let legal = rest.starts_with(|first: char| first.is_ascii_digit())
        && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    legal.then(|| DeviceSelector::Target(text.into()))
}

fn parameters(query: &str) -> Result<Vec<(String, String)>, UriErrorKind> {
    let mut parameters: Vec<(String, String)> = Vec::new();
    for text in query.split('&') {
        let bad = || UriErrorKind::BadParameter(text.into());
        let (key, value) = text.split_once('=').ok_or_else(bad)?;
        let legal_key = !key.is_empty()
            && key
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'));
        let legal_value = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'?');
        if !legal_key || !legal_value {
            return Err(bad());
        }
        if parameters.iter().any(|(earlier, _)| earlier == key) {
            return Err(UriErrorKind::RepeatedParameter(key.into()));
        }
        parameters.push((key.into(), value.into()));
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::PciAddress;
    use super::*;

    fn reason(text: &str) -> UriErrorKind {
        text.parse::<DeviceUri>().unwrap_err().reason
    }

    #[test]
    fn common_forms_parse() {
        for (text, canonical) in [
            ("amdgpu", "amdgpu"),
            ("amdgpu:0", "amdgpu://0"),
            ("amdgpu:/0", "amdgpu://0"),
            ("amdgpu://0", "amdgpu://0"),
            ("amdgpu://0,1", "amdgpu://0,1"),
            ("amdgpu://GPU-0e12865a3bf5b7ab", "amdgpu://GPU-0e12865a3bf5b7ab"),
            ("amdgpu://GPU-0e12865a3bf5b7ab,1", "amdgpu://GPU-0e12865a3bf5b7ab,1"),
            ("amdgpu://*", "amdgpu://*"),
            ("vulkan://pci/0000:03:00.0", "vulkan://pci/0000:03:00.0"),
            ("vulkan://pci/03:00.0", "vulkan://pci/0000:03:00.0"),
            ("cpu", "cpu"),
            ("cpu?threads=2", "cpu?threads=2"),
            ("emu://gfx1010", "emu://gfx1010"),
            ("emu:gfx1010,gfx1010", "emu://gfx1010,gfx1010"),
            ("emu:/gfx90a,gfx10-1-generic", "emu://gfx90a,gfx10-1-generic"),
            ("auto", "auto"),
            ("opencl:0?fp16=off&subgroups=off", "opencl://0?fp16=off&subgroups=off"),
        ] {
            let uri: DeviceUri = text.parse().unwrap();
            assert_eq!(uri.to_string(), canonical, "{text}");
            assert_eq!(canonical.parse::<DeviceUri>().unwrap(), uri, "{text}");
        }
    }

    #[test]
    fn errors_name_the_invalid_part() {
        assert_eq!(reason(""), UriErrorKind::BadScheme);
        assert_eq!(reason("://0"), UriErrorKind::BadScheme);
        assert_eq!(reason("AMDGPU"), UriErrorKind::BadScheme);
        assert_eq!(reason("amdgpu:"), UriErrorKind::EmptyPath);
        assert_eq!(reason("amdgpu://"), UriErrorKind::EmptyPath);
        assert_eq!(reason("amdgpu://0,,1"), UriErrorKind::EmptyItem);
        assert_eq!(reason("amdgpu://,1"), UriErrorKind::EmptyItem);
        assert_eq!(reason("amdgpu://0,"), UriErrorKind::TrailingComma);
        assert_eq!(reason("amdgpu://0,*"), UriErrorKind::StarInList);
        assert_eq!(reason("amdgpu://0,0"), UriErrorKind::Repeated("0".into()));
        assert_eq!(reason("amdgpu://GPU-ab,GPU-AB"), UriErrorKind::Repeated("GPU-AB".into()));
        assert_eq!(reason("amdgpu://first"), UriErrorKind::BadItem("first".into()));
        assert_eq!(reason("amdgpu://-1"), UriErrorKind::BadItem("-1".into()));
        assert_eq!(reason("amdgpu://99999999999"), UriErrorKind::OrdinalOverflow("99999999999".into()));
        assert_eq!(reason("vulkan://pci/03:20.0"), UriErrorKind::BadItem("pci/03:20.0".into()));
        assert_eq!(reason("vulkan://pci/+3:00.0"), UriErrorKind::BadItem("pci/+3:00.0".into()));
        assert_eq!(reason("cpu?"), UriErrorKind::BadParameter(String::new()));
        assert_eq!(reason("cpu?threads"), UriErrorKind::BadParameter("threads".into()));
        assert_eq!(reason("cpu?a=1&a=2"), UriErrorKind::RepeatedParameter("a".into()));
    }

    fn any_item() -> impl Strategy<Value = DeviceSelector> {
        prop_oneof![
            any::<u32>().prop_map(DeviceSelector::Ordinal),
            "GPU-[0-9a-f]{16}".prop_map(DeviceSelector::Uuid),
            (0u32..0x1_0000, any::<u8>(), 0u8..32, 0u8..8).prop_map(|(domain, bus, device, function)| {
                DeviceSelector::Pci(PciAddress { domain, bus, device, function })
            }),
            "gfx([0-9]{3,4}|90[ac]|[0-9]{1,2}(-[0-9])?-generic)".prop_map(DeviceSelector::Target),
        ]
    }

    fn any_uri() -> impl Strategy<Value = DeviceUri> {
        let selection = prop_oneof![
            Just(Selection::Default),
            Just(Selection::All),
            prop::collection::vec(any_item(), 1..5)
                .prop_filter("no repeats", |items| {
                    (0..items.len()).all(|i| items[..i].iter().all(|earlier| !same_device(earlier, &items[i])))
                })
                .prop_map(Selection::List),
        ];
        let parameters = prop::collection::btree_map("[a-z][a-z0-9_-]{0,6}", "[a-zA-Z0-9:/.=,-]{1,8}", 0..3);
        ("[a-z][a-z0-9]{0,8}", selection, parameters).prop_map(|(scheme, selection, parameters)| {
            DeviceUri::from_parts(scheme, selection, parameters.into_iter().collect())
        })
    }

    proptest! {
        #[test]
        fn uris_round_trip(uri in any_uri()) {
            let text = uri.to_string();
            prop_assert_eq!(text.parse::<DeviceUri>().unwrap(), uri);
        }

        #[test]
        fn arbitrary_text_never_panics(text in ".{0,40}") {
            if let Ok(uri) = text.parse::<DeviceUri>() {
                prop_assert_eq!(uri.to_string().parse::<DeviceUri>().unwrap(), uri);
            }
        }

        #[test]
        fn near_misses_never_panic(text in "[a-z]{1,3}:?/{0,3}[0-9a-zGPU*,:./-]{0,12}[?a=&]{0,5}") {
            if let Ok(uri) = text.parse::<DeviceUri>() {
                prop_assert_eq!(uri.to_string().parse::<DeviceUri>().unwrap(), uri);
            }
        }
    }
}
