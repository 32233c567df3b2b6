//! Columnator: measures that mean something only where some columns are told apart, or are not.

use super::constructors::names;
use super::measure::Combination;
use serde::{Deserialize, Serialize};

/// Other measures, combined as a Combinator does, but only where the right columns are *expressed*: grouped by, or filtered to one value.
/// Elsewhere it has no value at all, and its underlyings are not computed.
///
/// ```
/// use filbert_cube::{Aggregator, Columnator, Forest};
///
/// // An amount in its own currency cannot be added up over currencies.
/// let forest = Forest::builder()
///     .measure("any currency", Aggregator::sum("amount"))
///     .measure("amount", Columnator::require(&["any currency"], &["ccy"]))
///     .build()?;
/// # Ok::<(), filbert_cube::CubeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columnator {
    /// The measures; may be left out for a formula.
    #[serde(default)]
    pub underlyings: Vec<String>,
    /// How their cells become one; the sum, which is the cell itself where there is one measure.
    #[serde(default = "sum")]
    pub combination: Combination,
    /// Columns that must all be expressed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<String>,
    /// Columns of which none may be expressed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reject: Vec<String>,
}

fn sum() -> Combination {
    Combination::Sum
}

impl Columnator {
    /// The sum of measures, only where all of these columns are expressed.
    pub fn require(underlyings: &[&str], columns: &[&str]) -> Self {
        let (underlyings, require) = (names(underlyings), names(columns));
        Self { underlyings, combination: sum(), require, reject: Vec::new() }
    }

    /// The sum of measures, only where none of these columns is expressed.
    pub fn reject(underlyings: &[&str], columns: &[&str]) -> Self {
        let (underlyings, reject) = (names(underlyings), names(columns));
        Self { underlyings, combination: sum(), require: Vec::new(), reject }
    }

    /// With another combination than the sum.
    #[must_use]
    pub fn combination(mut self, combination: Combination) -> Self {
        self.combination = combination;
        self
    }
}
