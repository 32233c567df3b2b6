//! PRODUCT, of floats and, since products outgrow integers within a few rows, of everything else as a float too.
//!
//! A product is kept with 256 bits and an exponent of its own, and rounded to a double when it is told. So it neither overflows on the way nor
//! rounds after each factor. It is exact up to 256 bits; beyond, what is lost is so far below the last bit of a double that another order
//! of the factors could only change that bit with a chance of about 2^-190 for a million of them.

use super::super::values::{Kind, Values};
use super::lane::{Number, for_each};
use super::seen::Seen;
use super::{Carriers, same, saved};
use crate::error::CubeError;
use arrow::array::{ArrayRef, AsArray, BinaryArray, Float64Array};
use arrow::datatypes::DataType;
use std::marker::PhantomData;
use std::sync::Arc;

pub(super) fn of(kind: Kind, input: &DataType) -> Box<dyn Carriers> {
    let scale = match input {
        DataType::Decimal128(_, scale) => 10_f64.powi(i32::from(*scale)),
        _ => 1.0,
    };
    match kind {
        Kind::Float => Box::new(Products::<f64>::new(scale)),
        Kind::Int => Box::new(Products::<i64>::new(scale)),
        Kind::Wide => Box::new(Products::<i128>::new(scale)),
    }
}

trait Factor: Number {
    fn float(self) -> f64;
}

impl Factor for f64 {
    fn float(self) -> f64 {
        self
    }
}

impl Factor for i64 {
    fn float(self) -> f64 {
        self as f64
    }
}

impl Factor for i128 {
    fn float(self) -> f64 {
        self as f64
    }
}

const WORDS: usize = 4;

/// A number with 256 significant bits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WideFloat {
    /// A whole number whose highest bit is set, the lowest word first.
    words: [u64; WORDS],
    /// The power of two that it is multiplied by.
    exponent: i64,
    is_negative: bool,
    has_zero: bool,
    has_infinity: bool,
    has_nan: bool,
}

impl WideFloat {
    const ONE: Self = Self {
        words: [0, 0, 0, 1 << 63],
        exponent: -255,
        is_negative: false,
        has_zero: false,
        has_infinity: false,
        has_nan: false,
    };

    fn of(value: f64) -> Self {
        let mut made = Self { is_negative: value.is_sign_negative(), ..Self::ONE };
        if value.is_nan() {
            return Self { has_nan: true, ..Self::ONE };
        }
        (made.has_zero, made.has_infinity) = (value == 0.0, value.is_infinite());
        if made.has_zero || made.has_infinity {
            return made;
        }
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        let shift = mantissa.leading_zeros();
        made.words[WORDS - 1] = mantissa << shift;
        made.exponent = exponent.max(1) - 1_075 - i64::from(shift) - 192;
        made
    }

    fn times(&self, other: &Self) -> Self {
        let mut product = [0_u64; 2 * WORDS];
        // A double has one word that is not 0.
        for (low, word) in other.words.iter().enumerate().filter(|(_, word)| **word != 0) {
            let mut carry = 0;
            for (place, of) in self.words.iter().enumerate() {
                let sum = u128::from(*of) * u128::from(*word) + u128::from(product[low + place]) + carry;
                (product[low + place], carry) = (sum as u64, sum >> 64);
            }
            product[low + WORDS] = carry as u64;
        }
        let mut exponent = self.exponent.saturating_add(other.exponent).saturating_add(256);
        if product[2 * WORDS - 1] >> 63 == 0 {
            for place in (1..2 * WORDS).rev() {
                product[place] = product[place] << 1 | product[place - 1] >> 63;
            }
            exponent -= 1;
        }
        let [_, _, _, _, words @ ..] = product;
        Self {
            words,
            exponent,
            is_negative: self.is_negative != other.is_negative,
            has_zero: self.has_zero || other.has_zero,
            has_infinity: self.has_infinity || other.has_infinity,
            has_nan: self.has_nan || other.has_nan,
        }
    }

    /// The nearest double; of two the one whose last bit is 0. There is one zero.
    fn rounded(&self) -> f64 {
        let signed = |value: f64| if self.is_negative { -value } else { value };
        match (self.has_nan || self.has_zero && self.has_infinity, self.has_zero, self.has_infinity) {
            (true, ..) => return f64::NAN,
            (_, true, _) => return 0.0,
            (_, _, true) => return signed(f64::INFINITY),
            _ => {}
        }
        // That of the leading bit.
        let exponent = self.exponent.saturating_add(255);
        if exponent > 1_023 {
            return signed(f64::INFINITY);
        }
        // Below the least normal double there are fewer bits.
        let bits = 53 - (-1_022 - exponent).max(0);
        if bits < 0 {
            return 0.0;
        }
        let [low @ .., high] = &self.words;
        let shift = 64 - bits as u32;
        let kept = high.checked_shr(shift).unwrap_or(0);
        let is_half = high >> (shift - 1) & 1 == 1;
        let is_more = high & ((1 << (shift - 1)) - 1) != 0 || low.iter().any(|word| *word != 0);
        let mantissa = kept + u64::from(is_half && (is_more || kept & 1 == 1));
        // The leading bit of the mantissa, and a carry out of it, count as one more of the exponent.
        let field = (exponent + 1_022).max(0) as u64;
        let value = f64::from_bits((field << 52) + mantissa);
        if value == 0.0 { 0.0 } else { signed(value) }
    }

    fn encode(&self) -> Vec<u8> {
        let flags = [self.is_negative, self.has_zero, self.has_infinity, self.has_nan].map(u8::from);
        let words = self.words.iter().flat_map(|word| word.to_le_bytes());
        words.chain(self.exponent.to_le_bytes()).chain(flags).collect()
    }

    fn decode(bytes: &[u8]) -> Result<Self, CubeError> {
        let damaged = || CubeError::Computation {
            place: "product".to_owned(),
            message: format!("{} bytes are no product", bytes.len()),
        };
        let (numbers, flags) = bytes.as_chunks::<8>();
        let (Ok([words @ .., exponent]), Ok(flags)) =
            (<[[u8; 8]; WORDS + 1]>::try_from(numbers), <[u8; 4]>::try_from(flags))
        else {
            return Err(damaged());
        };
        let [is_negative, has_zero, has_infinity, has_nan] = flags.map(|flag| flag != 0);
        let (words, exponent) = (words.map(u64::from_le_bytes), i64::from_le_bytes(exponent));
        Ok(Self { words, exponent, is_negative, has_zero, has_infinity, has_nan })
    }
}

struct Products<N> {
    products: Vec<WideFloat>,
    seen: Seen,
    scale: f64,
    number: PhantomData<fn(N)>,
}

impl<N> Products<N> {
    fn new(scale: f64) -> Self {
        Self { products: Vec::new(), seen: Seen::default(), scale, number: PhantomData }
    }
}

impl<N: Factor> Carriers for Products<N> {
    fn grow(&mut self, groups: usize) {
        self.products.resize(groups, WideFloat::ONE);
        self.seen.grow(groups);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let products = self.products.as_mut_slice();
        let scale = self.scale;
        for_each::<N>(groups, values, |group, number| {
            products[group] = products[group].times(&WideFloat::of(number.float() / scale));
        });
        self.seen.add(groups, values);
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        for (group, row) in groups.iter().zip(rows) {
            let product = &mut self.products[*group as usize];
            *product = product.times(&from.products[*row as usize]);
        }
        self.seen.merge(groups, &from.seen, rows);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        let rounded: Vec<f64> = self.products.iter().map(WideFloat::rounded).collect();
        Ok(Arc::new(Float64Array::new(rounded.into(), self.seen.finish())))
    }

    fn bytes(&self) -> usize {
        self.products.capacity() * size_of::<WideFloat>() + self.seen.bytes()
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        let products = groups.iter().map(|group| Some(self.products[*group as usize].encode()));
        Ok(Some(vec![Arc::new(products.collect::<BinaryArray>()), self.seen.save(groups)]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [products, seen] = saved::columns(columns)?;
        let products = products.as_binary::<i32>().iter().flatten();
        self.products = products.map(WideFloat::decode).collect::<Result<_, _>>()?;
        self.seen = Seen::load(seen);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::WideFloat;
    use proptest::prelude::*;

    fn product(factors: &[f64]) -> f64 {
        factors
            .iter()
            .fold(WideFloat::ONE, |product, factor| product.times(&WideFloat::of(*factor)))
            .rounded()
    }

    #[test]
    fn a_product_neither_overflows_on_the_way_nor_has_two_zeros() {
        assert_eq!(product(&[]), 1.0);
        let (large, small) = (2_f64.powi(900), 2_f64.powi(-900));
        assert_eq!(product(&[large, large, small, small]), 1.0);
        assert_eq!(product(&[2.0, -3.0, 7.0]), -42.0);
        assert_eq!(product(&[1e300, -1e300]), f64::NEG_INFINITY);
        assert_eq!(product(&[1e-300, -1e-300]).to_bits(), 0.0_f64.to_bits());
        assert_eq!(product(&[-0.0, 5.0]).to_bits(), 0.0_f64.to_bits());
        assert!(product(&[0.0, f64::INFINITY]).is_nan() && product(&[f64::NAN, 0.0]).is_nan());
        // The least doubles, and half of the least, which is a tie.
        assert_eq!(product(&[f64::from_bits(3), 0.5]), f64::from_bits(2));
        assert_eq!(product(&[f64::from_bits(1), 0.5]), 0.0);
        assert_eq!(product(&[f64::from_bits(1), 0.75]), f64::from_bits(1));
        assert_eq!(product(&[f64::MAX, 1.0]), f64::MAX);
    }

    proptest! {
        #[test]
        fn two_factors_round_as_the_processor_does(a: f64, b: f64) {
            let (ours, theirs) = (product(&[a, b]), a * b);
            prop_assert!(ours == theirs || ours.is_nan() && theirs.is_nan(), "{a} * {b}: {ours}, {theirs}");
        }

        #[test]
        fn the_order_of_factors_does_not_matter(
            (factors, other) in prop::collection::vec(-3.0..3.0_f64, 0..40)
                .prop_flat_map(|factors| (Just(factors.clone()), Just(factors).prop_shuffle())),
            cut in 0..40_usize,
        ) {
            let each = |factors: &[f64]| {
                factors.iter().fold(WideFloat::ONE, |made, factor| made.times(&WideFloat::of(*factor)))
            };
            let (left, right) = other.split_at(cut.min(other.len()));
            let merged = WideFloat::decode(&each(left).encode()).unwrap().times(&each(right));
            prop_assert_eq!(product(&factors).to_bits(), merged.rounded().to_bits());
        }
    }
}
