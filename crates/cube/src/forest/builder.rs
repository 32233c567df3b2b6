//! A forest under construction.

use super::calculated::{CalculatedColumn, ColumnFormula};
use super::constructors::names;
use super::measure::Measure;
use super::registry::{CustomMeasure, DecompositionFunction, Registry};
use super::{Forest, Inner, NumberFormat, validate};
use crate::aggregate::CustomAggregate;
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::expression::Expression;
use crate::query::Position;
use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{DataType, Float64Type};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Collects measures, columns and code; [`ForestBuilder::build`] checks them.
#[derive(Debug, Clone, Default)]
#[must_use = "call `build`"]
pub struct ForestBuilder {
    pub(super) measures: Vec<(String, Measure)>,
    pub(super) shards: Vec<(String, Vec<String>)>,
    pub(super) formats: Vec<(String, NumberFormat)>,
    pub(super) columns: Vec<CalculatedColumn>,
    pub(super) registry: Registry,
}

impl ForestBuilder {
    /// Adds a measure.
    pub fn measure(mut self, name: &str, measure: impl Into<Measure>) -> Self {
        self.measures.push((name.to_owned(), measure.into()));
        self
    }

    /// By which columns slices are spread when this measure is asked for, or one made of it, and the query does not say. Where several
    /// measures say so, the columns that they have in common count; where there are none, nobody said anything.
    pub fn shard(mut self, measure: &str, columns: &[&str]) -> Self {
        self.shards.push((measure.to_owned(), names(columns)));
        self
    }

    /// Gives the numbers of a measure a format, for tables that people read.
    pub fn format(mut self, measure: &str, format: NumberFormat) -> Self {
        self.formats.push((measure.to_owned(), format));
        self
    }

    /// Adds a column that is a formula over columns of the table, or over columns added before.
    pub fn column(mut self, name: &str, expression: Expression) -> Self {
        self.columns.push(CalculatedColumn::expression(name, expression));
        self
    }

    /// Adds a column that a registered function computes.
    pub fn column_function(mut self, name: &str, function: &str, inputs: &[&str]) -> Self {
        let formula = ColumnFormula::Function { name: function.to_owned(), inputs: names(inputs) };
        self.columns.push(CalculatedColumn { name: name.to_owned(), formula });
        self
    }

    /// Registers a function of whole columns, for combinators and calculated columns.
    pub fn function(
        mut self,
        name: &str,
        function: impl Fn(&[ArrayRef]) -> Result<ArrayRef, String> + Send + Sync + 'static,
    ) -> Self {
        self.registry.cells.insert(name.to_owned(), Arc::new(function));
        self
    }

    /// Registers a function of single numbers, for combinators and calculated columns.
    ///
    /// ```
    /// use filbert_cube::{Aggregator, Combinator, Forest};
    ///
    /// let forest = Forest::builder()
    ///     .cell_function("square", |cells| cells[0].map(|value| value * value))
    ///     .measure("pnl", Aggregator::sum("pnl"))
    ///     .measure("squared", Combinator::function(&["pnl"], "square"))
    ///     .build()?;
    /// # Ok::<(), filbert_cube::CubeError>(())
    /// ```
    pub fn cell_function(
        self,
        name: &str,
        function: impl Fn(&[Option<f64>]) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        self.function(name, move |columns| {
            let floats: Result<Vec<ArrayRef>, String> = columns
                .iter()
                .map(|column| {
                    arrow::compute::cast(column, &DataType::Float64).map_err(|error| error.to_string())
                })
                .collect();
            let floats = floats?;
            let floats: Vec<&Float64Array> =
                floats.iter().map(|column| column.as_primitive::<Float64Type>()).collect();
            let rows = floats.first().map_or(0, |column| column.len());
            let mut cells = vec![None; floats.len()];
            let values = (0..rows).map(|row| {
                for (cell, column) in cells.iter_mut().zip(&floats) {
                    *cell = column.is_valid(row).then(|| column.value(row));
                }
                function(&cells)
            });
            Ok(Arc::new(values.collect::<Float64Array>()))
        })
    }

    /// Registers which coordinate a Shiftor reads.
    pub fn shift_function(
        mut self,
        name: &str,
        function: impl Fn(&Coordinate) -> Coordinate + Send + Sync + 'static,
    ) -> Self {
        self.registry.shifts.insert(name.to_owned(), Arc::new(function));
        self
    }

    /// Registers where the cells of a Dispatchor go; `output` is the type of the column that they go to.
    pub fn decomposition(
        mut self,
        name: &str,
        output: DataType,
        targets: impl Fn(&Coordinate) -> Vec<(Coordinate, f64)> + Send + Sync + 'static,
    ) -> Self {
        let function = DecompositionFunction { output, targets: Arc::new(targets) };
        self.registry.decompositions.insert(name.to_owned(), function);
        self
    }

    /// Registers which measure a Routing reads, by where it is asked for. It chooses while a query is planned: fast, and always the same.
    pub fn route_function(
        mut self,
        name: &str,
        function: impl Fn(&Position) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.registry.routes.insert(name.to_owned(), Arc::new(function));
        self
    }

    /// Registers the code of custom measures.
    pub fn custom(mut self, name: &str, measure: impl CustomMeasure + 'static) -> Self {
        self.registry.measures.insert(name.to_owned(), Arc::new(measure));
        self
    }

    /// Registers an aggregation.
    pub fn aggregation(mut self, name: &str, aggregate: impl CustomAggregate + 'static) -> Self {
        self.registry.aggregates.insert(name.to_owned(), Arc::new(aggregate));
        self
    }

    /// Checks everything and makes the forest.
    pub fn build(self) -> Result<Forest, CubeError> {
        let order = self.measures.iter().map(|(name, _)| name.clone()).collect();
        let mut measures = BTreeMap::new();
        let mut places = BTreeMap::new();
        for (index, (name, measure)) in self.measures.into_iter().enumerate() {
            let here = format!("measure {} of the forest", index + 1);
            if let Some(first) = places.insert(name.clone(), here.clone()) {
                return Err(CubeError::DuplicateMeasure { name, first, second: here });
            }
            measures.insert(name, measure);
        }
        validate::check(&measures, &self.columns, &self.registry)?;
        let mut shards = BTreeMap::new();
        for (measure, columns) in self.shards {
            if !measures.contains_key(&measure) {
                return Err(validate::unknown(&measures, &measure, Vec::new()));
            }
            if columns.is_empty() {
                let problem = "its `shard` needs at least one column; leave it out for none".to_owned();
                return Err(CubeError::InvalidMeasure { measure, problem });
            }
            shards.insert(measure, columns);
        }
        if let Some((unknown, _)) = self.formats.iter().find(|(name, _)| !measures.contains_key(name)) {
            return Err(validate::unknown(&measures, unknown, Vec::new()));
        }
        let formats = self.formats.into_iter().collect();
        let (columns, registry) = (self.columns, self.registry);
        Ok(Forest { inner: Arc::new(Inner { measures, order, formats, shards, columns, registry }) })
    }
}
