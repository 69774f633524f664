//! The attributes of a node, each read once and checked.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::Error;
use crate::proto::{AttributeProto, AttributeType};
use crate::tensor::text;

/// Attributes that do not affect the result.
const IGNORED_ATTRIBUTES: [&str; 2] = ["consumed_inputs", "doc_string"];

/// The attributes of a node. One that was never read is an error at the end, because it could
/// change the result.
#[derive(Debug)]
pub(crate) struct Attributes<'a> {
    all: BTreeMap<&'a str, &'a AttributeProto>,
    asked: RefCell<Vec<String>>,
}

impl<'a> Attributes<'a> {
    pub(crate) fn new(attributes: impl IntoIterator<Item = &'a AttributeProto>) -> Self {
        let all = attributes.into_iter().map(|one| (one.name.as_str(), one)).collect();
        Self { all, asked: RefCell::default() }
    }

    /// An attribute of any kind.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a AttributeProto> {
        self.asked.borrow_mut().push(name.to_owned());
        self.all.get(name).copied()
    }

    /// An attribute of one kind. Old files omit the kind.
    pub(crate) fn of(&self, name: &str, kind: AttributeType) -> Result<Option<&'a AttributeProto>, Error> {
        let Some(found) = self.raw(name) else { return Ok(None) };
        if found.r#type != 0 && found.r#type != kind as i32 {
            return Err(Error::invalid(format!("attribute `{name}` is not of the kind {kind:?}")));
        }
        Ok(Some(found))
    }

    pub(crate) fn int(&self, name: &str) -> Result<Option<i64>, Error> {
        Ok(self.of(name, AttributeType::Int)?.map(|one| one.i))
    }

    pub(crate) fn int_or(&self, name: &str, default: i64) -> Result<i64, Error> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// An integer that is 0 or 1.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, Error> {
        Ok(self.int(name)?.map_or(default, |value| value != 0))
    }

    pub(crate) fn float(&self, name: &str) -> Result<Option<f32>, Error> {
        Ok(self.of(name, AttributeType::Float)?.map(|one| one.f))
    }

    pub(crate) fn float_or(&self, name: &str, default: f32) -> Result<f32, Error> {
        Ok(self.float(name)?.unwrap_or(default))
    }

    pub(crate) fn ints(&self, name: &str) -> Result<Option<Vec<i64>>, Error> {
        Ok(self.of(name, AttributeType::Ints)?.map(|one| one.ints.clone()))
    }

    pub(crate) fn floats(&self, name: &str) -> Result<Option<Vec<f32>>, Error> {
        Ok(self.of(name, AttributeType::Floats)?.map(|one| one.floats.clone()))
    }

    pub(crate) fn string(&self, name: &str) -> Result<Option<String>, Error> {
        self.of(name, AttributeType::String)?.map(|one| text(&one.s)).transpose()
    }

    pub(crate) fn string_or(&self, name: &str, default: &str) -> Result<String, Error> {
        Ok(self.string(name)?.unwrap_or_else(|| default.to_owned()))
    }

    pub(crate) fn strings(&self, name: &str) -> Result<Option<Vec<String>>, Error> {
        self.of(name, AttributeType::Strings)?
            .map(|one| one.strings.iter().map(|text_| text(text_)).collect())
            .transpose()
    }

    /// Fails if an attribute was not read.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        let asked = self.asked.borrow();
        let unread =
            self.all.keys().find(|name| !IGNORED_ATTRIBUTES.contains(name) && !asked.iter().any(|one| one == *name));
        match unread {
            Some(name) => Err(Error::invalid(format!("attribute `{name}` is not supported"))),
            None => Ok(()),
        }
    }
}
