//! The keys of a struct, taken from the struct itself.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

/// The keys that a struct reads, in the order of its fields; none for any other type, and for a struct that takes in
/// another one with `flatten`.
pub fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut keys: &[&str] = &[];
    // A struct tells its keys before it is read, and then nothing is there to be read.
    let _ = T::deserialize(Keys(&mut keys));
    keys
}

struct Keys<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Keys<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("this is no struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(Error::custom("only the keys are wanted"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::keys_of;

    #[test]
    fn a_struct_has_the_keys_that_it_reads() {
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "only its keys are asked for")]
        struct Table {
            first: u8,
            #[serde(default)]
            second: Option<Vec<Self>>,
            #[serde(rename = "third")]
            other: String,
            #[serde(skip)]
            fourth: u8,
        }
        assert_eq!(keys_of::<Table>(), ["first", "second", "third"]);
        assert!(keys_of::<Vec<Table>>().is_empty());
    }
}
