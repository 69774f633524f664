//! JSON keys that were renamed and are written under both names for one release.

/// Defines a module for `#[serde(flatten, serialize_with = "MODULE::serialize")]`. The field is
/// written under its current key and under the key of earlier releases.
///
/// `renamed_key!(optional MODULE: …)` is for `#[serde(flatten, with = "MODULE")]` on an `Option`,
/// and reads either key. The crate that uses the macro depends on `serde`.
#[macro_export]
macro_rules! renamed_key {
    ($module:ident: $current:literal, formerly $old:literal) => {
        mod $module {
            $crate::renamed_key!(@serialize $current, $old);
        }
    };
    (optional $module:ident: $current:literal, formerly $old:literal) => {
        mod $module {
            $crate::renamed_key!(@serialize $current, $old);

            pub(super) fn deserialize<'de, T: ::serde::Deserialize<'de>, D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Option<T>, D::Error> {
                #[derive(::serde::Deserialize)]
                struct Keys<T> {
                    #[serde(rename = $current)]
                    current: Option<T>,
                    #[serde(rename = $old)]
                    old: Option<T>,
                }
                let keys = <Keys<T> as ::serde::Deserialize>::deserialize(deserializer)?;
                Ok(keys.current.or(keys.old))
            }
        }
    };
    (@serialize $current:literal, $old:literal) => {
        pub(super) fn serialize<T: ::serde::Serialize, S: ::serde::Serializer>(
            value: &T,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            use ::serde::ser::SerializeMap;
            let mut map = serializer.serialize_map(Some(2))?;
            map.serialize_entry($current, value)?;
            map.serialize_entry($old, value)?;
            map.end()
        }
    };
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    renamed_key!(size: "size", formerly "bigness");
    renamed_key!(optional reason: "reason", formerly "because");

    #[derive(Serialize)]
    struct Sized {
        name: &'static str,
        #[serde(flatten, serialize_with = "size::serialize")]
        size: u32,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "status", rename_all = "lowercase")]
    enum End {
        Died {
            #[serde(flatten, with = "reason")]
            reason: Option<String>,
        },
    }

    /// As reports nest results.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Report {
        #[serde(flatten)]
        end: End,
    }

    #[test]
    fn both_keys_are_written() {
        let text = serde_json::to_string(&Sized { name: "one", size: 3 }).expect("it is JSON");
        assert_eq!(text, r#"{"name":"one","size":3,"bigness":3}"#);
    }

    #[test]
    fn either_key_is_read() {
        let report = |reason: Option<&str>| Report { end: End::Died { reason: reason.map(str::to_owned) } };
        for text in [
            r#"{"status":"died","reason":"x"}"#,
            r#"{"status":"died","because":"x"}"#,
            r#"{"status":"died","reason":"x","because":"y"}"#,
        ] {
            assert_eq!(serde_json::from_str::<Report>(text).expect("it is a report"), report(Some("x")), "{text}");
        }
        for written in [report(Some("x")), report(None)] {
            let text = serde_json::to_string(&written).expect("it is JSON");
            assert!(text.contains("\"reason\"") && text.contains("\"because\""), "{text}");
            assert_eq!(serde_json::from_str::<Report>(&text).expect("it is a report"), written, "{text}");
        }
    }
}
