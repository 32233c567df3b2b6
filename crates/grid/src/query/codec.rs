//! Predicates as bytes, the way clients send them and operations carry them.
//!
//! Nesting is counted down and parts are counted up while reading, so hostile bytes end in an error before they cost stack or memory
//! beyond their own size.

use super::attribute::Attribute;
use super::error::{MAX_DEPTH, MAX_PARTS, QueryError};
use super::identified::{self, PREDICATES, read_class, write_class, write_object, write_text};
use super::like::LikePattern;
use super::operand::Operand;
use super::paging::PagingPredicate;
use super::pattern::{RegexCompiler, RegexPattern};
use super::predicate::{Comparison, Predicate};
use super::sql;
use filbert_wire::compact::SchemaSource;
use filbert_wire::{
    Data, DecodeError, EncodeError, FromData, Input, MAX_NUMBER_BYTES, Output, ToData, Value, type_id,
};

const SQL: i32 = 0;
const AND: i32 = 1;
const BETWEEN: i32 = 2;
const EQUAL: i32 = 3;
const GREATER_LESS: i32 = 4;
const LIKE: i32 = 5;
const ILIKE: i32 = 6;
const IN: i32 = 7;
const INSTANCE_OF: i32 = 8;
const NOT_EQUAL: i32 = 9;
const NOT: i32 = 10;
const OR: i32 = 11;
const REGEX: i32 = 12;
const FALSE: i32 = 13;
const TRUE: i32 = 14;
const PAGING: i32 = 15;

const WHAT: &str = "predicate";

impl Predicate {
    /// The predicate that a client sent. Compact values in it are read by `schemas`.
    pub fn from_data(data: &Data, schemas: &dyn SchemaSource) -> Result<Self, QueryError> {
        let input = Input::with_schemas(data.payload(), schemas);
        let mut reader = Reader { input, parts: 0, regexes: RegexCompiler::default(), number_bytes: 0 };
        let predicate = reader.predicate(data.type_id(), 0)?;
        reader.input.finish().map_err(QueryError::decode(WHAT))?;
        Ok(predicate)
    }
}

identified::travels_as_data!(Predicate);

pub(super) struct Reader<'a> {
    pub(super) input: Input<'a>,
    parts: usize,
    regexes: RegexCompiler,
    /// Of the numbers that do not fit 128 bits.
    number_bytes: usize,
}

impl Reader<'_> {
    fn get<T: filbert_wire::Fixed>(&mut self) -> Result<T, QueryError> {
        self.input.get().map_err(QueryError::decode(WHAT))
    }

    fn text(&mut self) -> Result<Option<String>, QueryError> {
        let text = self.input.text().map_err(QueryError::decode(WHAT))?;
        Ok(text.map(str::to_owned))
    }

    fn needed_text(&mut self, expected: &'static str) -> Result<String, QueryError> {
        self.text()?
            .ok_or(QueryError::Decode { what: WHAT, source: DecodeError::UnexpectedNull { expected } })
    }

    fn attribute(&mut self) -> Result<Attribute, QueryError> {
        self.needed_text("an attribute")?.parse()
    }

    /// An object that is a value.
    pub(super) fn value(&mut self) -> Result<Value, QueryError> {
        let type_id = self.get()?;
        Value::read_payload(type_id, &mut self.input).map_err(QueryError::decode("value in a predicate"))
    }

    fn operand(&mut self) -> Result<Operand, QueryError> {
        let value = self.value()?;
        let length = match &value {
            Value::BigInteger(number) => number.as_be_bytes().len(),
            Value::Decimal(number) => number.unscaled().as_be_bytes().len(),
            _ => 0,
        };
        // To write the digits of one and to compare two takes time by the square of their length.
        if length > size_of::<i128>() {
            self.number_bytes += length;
            if self.number_bytes > MAX_NUMBER_BYTES {
                return Err(QueryError::TooLarge {
                    what: "the bytes of large numbers in a predicate",
                    size: self.number_bytes,
                    limit: MAX_NUMBER_BYTES,
                });
            }
        }
        Ok(Operand::new(value))
    }

    fn count(&mut self, what: &'static str) -> Result<usize, QueryError> {
        // A part takes at least the four bytes of its type id.
        let count = self.input.length(what, 4).map_err(QueryError::decode(WHAT))?;
        count.ok_or(QueryError::Decode { what: WHAT, source: DecodeError::UnexpectedNull { expected: what } })
    }

    /// An object that is a predicate.
    fn nested(&mut self, depth: usize) -> Result<Predicate, QueryError> {
        let type_id = self.get()?;
        self.predicate(type_id, depth + 1)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Predicate>, QueryError> {
        let count = self.count("a list of predicates")?;
        // Grows as they are read: one takes far more memory than the bytes that promise it.
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(self.nested(depth)?);
        }
        Ok(all)
    }

    fn predicate(&mut self, type_id: i32, depth: usize) -> Result<Predicate, QueryError> {
        if depth >= MAX_DEPTH {
            return Err(QueryError::TooDeep { limit: MAX_DEPTH });
        }
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(QueryError::TooLarge {
                what: "the parts of a predicate",
                size: self.parts,
                limit: MAX_PARTS,
            });
        }
        let class = read_class(WHAT, PREDICATES, type_id, &mut self.input)?;
        Ok(match class {
            SQL => {
                let text = self.needed_text("the text of a predicate")?;
                let meaning = Box::new(sql::parse_with(&text, &mut self.regexes)?);
                Predicate::Sql { text, meaning }
            }
            AND => Predicate::And(self.list(depth)?),
            OR => Predicate::Or(self.list(depth)?),
            NOT => Predicate::Not(Box::new(self.nested(depth)?)),
            TRUE => Predicate::True,
            FALSE => Predicate::False,
            EQUAL => Predicate::Equal(self.attribute()?, self.operand()?),
            NOT_EQUAL => Predicate::NotEqual(self.attribute()?, self.operand()?),
            GREATER_LESS => {
                let (attribute, operand) = (self.attribute()?, self.operand()?);
                let (with_equal, less) = (self.get()?, self.get()?);
                Predicate::Compare(attribute, Comparison::of(with_equal, less), operand)
            }
            BETWEEN => {
                let (attribute, to, from) = (self.attribute()?, self.operand()?, self.operand()?);
                Predicate::Between(attribute, from, to)
            }
            IN => {
                let attribute = self.attribute()?;
                let count = self.count("a list of values")?;
                let operands = (0..count).map(|_| self.operand()).collect::<Result<Vec<_>, _>>()?;
                Predicate::In(attribute, operands.into_iter().collect())
            }
            LIKE => Predicate::Like(self.attribute()?, self.text()?.map(LikePattern::new).transpose()?),
            ILIKE => {
                Predicate::Like(self.attribute()?, self.text()?.map(LikePattern::ignoring_case).transpose()?)
            }
            REGEX => {
                let attribute = self.attribute()?;
                let pattern = self.text()?.map(|text| self.regexes.compile(&text)).transpose()?;
                Predicate::Regex(attribute, pattern)
            }
            INSTANCE_OF => Predicate::InstanceOf(self.needed_text("a class name")?),
            PAGING => Predicate::Paging(Box::new(self.paging(depth)?)),
            class => return Err(QueryError::UnknownClass { what: WHAT, factory: PREDICATES, class }),
        })
    }

    fn paging(&mut self, depth: usize) -> Result<PagingPredicate, QueryError> {
        let inner = match self.get()? {
            type_id::NULL => None,
            type_id => Some(self.predicate(type_id, depth + 1)?),
        };
        if matches!(inner, Some(Predicate::Paging(_))) {
            let problem = "a page of a page is not possible".to_owned();
            return Err(QueryError::BadArgument { what: "paging predicate", problem });
        }
        let comparator = match self.get()? {
            type_id::NULL => None,
            // Only a comparator without fields can be read: nobody here knows how long another one is.
            found => {
                let (factory, class) = identified::read_header("comparator", found, &mut self.input)?;
                Some(PagingPredicate::comparator_data(factory, class))
            }
        };
        let (page, page_size) = (self.get::<i32>()?, self.get::<i32>()?);
        let iteration = self.needed_text("an iteration type")?.parse()?;
        let mut paging = PagingPredicate::new(inner, page_size, page, iteration)?.with_comparator(comparator);
        for _ in 0..self.count("a list of anchors")? {
            let page = self.get::<i32>()?;
            let (key, value) = (self.value()?.to_data()?, self.value()?.to_data()?);
            paging.push_anchor(page, key, value);
        }
        Ok(paging)
    }
}

impl ToData for Predicate {
    fn type_id(&self) -> i32 {
        type_id::DATA_SERIALIZABLE
    }

    fn payload_size(&self) -> usize {
        64
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        write(self, out, 0)
    }
}

fn write(predicate: &Predicate, out: &mut Output, depth: usize) -> Result<(), EncodeError> {
    if depth >= MAX_DEPTH {
        return Err(EncodeError::TooDeep { limit: MAX_DEPTH as u32 });
    }
    let nested = |predicate: &Predicate, out: &mut Output| {
        out.put(type_id::DATA_SERIALIZABLE);
        write(predicate, out, depth + 1)
    };
    let list = |all: &[Predicate], out: &mut Output| {
        out.length(all.len())?;
        all.iter().try_for_each(|predicate| nested(predicate, out))
    };
    let attribute = |class: i32, attribute: &Attribute, out: &mut Output| {
        write_class(out, PREDICATES, class);
        out.prefixed(attribute.as_str().as_bytes())
    };
    let mut class = |class: i32| write_class(out, PREDICATES, class);
    match predicate {
        Predicate::True => class(TRUE),
        Predicate::False => class(FALSE),
        Predicate::Sql { text, .. } => {
            class(SQL);
            out.prefixed(text.as_bytes())?;
        }
        Predicate::And(all) => {
            class(AND);
            list(all, out)?;
        }
        Predicate::Or(all) => {
            class(OR);
            list(all, out)?;
        }
        Predicate::Not(inner) => {
            class(NOT);
            nested(inner, out)?;
        }
        Predicate::Equal(path, operand) => {
            attribute(EQUAL, path, out)?;
            value(operand, out)?;
        }
        Predicate::NotEqual(path, operand) => {
            attribute(NOT_EQUAL, path, out)?;
            value(operand, out)?;
        }
        Predicate::Compare(path, comparison, operand) => {
            attribute(GREATER_LESS, path, out)?;
            value(operand, out)?;
            out.put(comparison.with_equal());
            out.put(comparison.is_less());
        }
        Predicate::Between(path, from, to) => {
            attribute(BETWEEN, path, out)?;
            value(to, out)?;
            value(from, out)?;
        }
        Predicate::In(path, operands) => {
            attribute(IN, path, out)?;
            out.length(operands.as_slice().len())?;
            operands.as_slice().iter().try_for_each(|operand| value(operand, out))?;
        }
        Predicate::Like(path, pattern) => {
            let ignores_case = pattern.as_ref().is_some_and(LikePattern::ignores_case);
            attribute(if ignores_case { ILIKE } else { LIKE }, path, out)?;
            write_text(out, pattern.as_ref().map(LikePattern::as_str))?;
        }
        Predicate::Regex(path, pattern) => {
            attribute(REGEX, path, out)?;
            write_text(out, pattern.as_ref().map(RegexPattern::as_str))?;
        }
        Predicate::InstanceOf(name) => {
            class(INSTANCE_OF);
            out.prefixed(name.as_bytes())?;
        }
        Predicate::Paging(paging) => {
            class(PAGING);
            match paging.predicate() {
                Some(inner) => nested(inner, out)?,
                None => out.put(type_id::NULL),
            }
            match paging.comparator() {
                Some(comparator) => write_object(out, comparator),
                None => out.put(type_id::NULL),
            }
            out.put(paging.page());
            out.put(paging.page_size());
            out.prefixed(paging.iteration().as_str().as_bytes())?;
            out.length(paging.anchors().len())?;
            for anchor in paging.anchors() {
                out.put(anchor.page);
                write_object(out, &anchor.key);
                write_object(out, &anchor.value);
            }
        }
    }
    Ok(())
}

fn value(operand: &Operand, out: &mut Output) -> Result<(), EncodeError> {
    out.put(operand.value().type_id());
    operand.value().write_payload(out)
}
