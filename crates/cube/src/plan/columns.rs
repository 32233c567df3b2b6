//! The columns that a query may name, with their types: those of the table, calculated ones, and those that Dispatchors make.

use super::dispatched::dispatched_columns;
use super::targets::TargetLists;
use crate::coordinate::logical_type;
use crate::error::CubeError;
use crate::filter::ColumnSource;
use crate::forest::{CalculatedColumn, ColumnFormula, ExpressionText, Forest};
use crate::nearest::nearest;
use arrow::array::{ArrayRef, new_empty_array};
use arrow::datatypes::{DataType, SchemaRef};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Columns by name.
#[derive(Debug, Clone)]
pub(crate) struct CubeColumns {
    table: Arc<str>,
    schema: SchemaRef,
    forest: Forest,
    /// The logical type of each.
    types: BTreeMap<Arc<str>, DataType>,
    /// The columns that Dispatchors make, with their types.
    dispatched: Arc<BTreeMap<String, DataType>>,
    lists: TargetLists,
}

impl CubeColumns {
    /// The columns of a table and of a forest. A calculated column's type is what its formula gives for no rows.
    pub(crate) fn new(table: &str, schema: &SchemaRef, forest: &Forest) -> Result<Self, CubeError> {
        let types = schema
            .fields()
            .iter()
            .map(|field| (Arc::from(field.name().as_str()), logical_type(field.data_type())))
            .collect();
        let mut columns = Self {
            table: table.into(),
            schema: Arc::clone(schema),
            forest: forest.clone(),
            types,
            dispatched: Arc::new(dispatched_columns(forest)),
            lists: TargetLists::default(),
        };
        for column in forest.columns() {
            let inputs: Result<Vec<ArrayRef>, CubeError> = column
                .inputs()
                .iter()
                .map(|input| {
                    let data_type = columns.value_type(input);
                    let data_type =
                        data_type.map_err(|error| error.wanted_by(format!("column {:?}", column.name)))?;
                    Ok(new_empty_array(&data_type))
                })
                .collect();
            if columns.types.contains_key(column.name.as_str()) {
                return Err(CubeError::InvalidMeasure {
                    measure: column.name.clone(),
                    problem: format!(
                        "table {table:?} has a column of that name; give the calculated one another"
                    ),
                });
            }
            let empty = columns.calculate(column, &inputs?, 0)?;
            columns.types.insert(column.name.as_str().into(), logical_type(empty.data_type()));
        }
        for (measure, shard) in forest.shards() {
            let whose = |error: CubeError| error.wanted_by(format!("measure {measure:?}"));
            shard.iter().try_for_each(|column| columns.check_named(column)).map_err(whose)?;
        }
        Ok(columns)
    }

    /// The logical type of a column, or an error that says which there are.
    pub(crate) fn type_of(&self, column: &str) -> Result<DataType, CubeError> {
        self.types.get(column).cloned().ok_or_else(|| self.unknown(column))
    }

    /// That there is no such column, where it was looked for.
    fn unknown(&self, column: &str) -> CubeError {
        let all = self.types.keys().map(|name| &**name).chain(self.dispatched.keys().map(String::as_str));
        // A column that a Dispatchor makes is meant as it is written, only not there.
        let nearest = match self.dispatched.contains_key(column) {
            true => None,
            false => nearest(column, all),
        };
        CubeError::UnknownColumn {
            table: self.table.to_string(),
            column: column.to_owned(),
            wanted_by: None,
            known: self.names().into(),
            dispatched: self.dispatched.keys().cloned().collect(),
            nearest: nearest.map(str::to_owned),
        }
    }

    /// Refuses what is no column, of the table, calculated or made by a Dispatchor.
    pub(crate) fn check_named(&self, column: &str) -> Result<(), CubeError> {
        match self.dispatched.contains_key(column) {
            true => Ok(()),
            false => self.type_of(column).map(|_| ()),
        }
    }

    /// The type of a column, if there is one of that name.
    pub(crate) fn find(&self, column: &str) -> Option<DataType> {
        self.types.get(column).cloned()
    }

    /// The type of a column as the table has it.
    pub(crate) fn table_type(&self, column: &str) -> Option<&DataType> {
        self.schema.field_with_name(column).ok().map(|field| field.data_type())
    }

    /// The type in which the values of a column are aggregated: the table's own, or that of the formula.
    pub(crate) fn value_type(&self, column: &str) -> Result<DataType, CubeError> {
        self.table_type(column).map_or_else(|| self.type_of(column), |data_type| Ok(data_type.clone()))
    }

    /// All columns, with their logical types.
    pub(crate) fn types(&self) -> &BTreeMap<Arc<str>, DataType> {
        &self.types
    }

    /// The columns that Dispatchors make, with their types.
    pub(crate) fn dispatched(&self) -> &BTreeMap<String, DataType> {
        &self.dispatched
    }

    /// The lists of Dispatchors, as far as queries needed them.
    pub(super) fn lists(&self) -> &TargetLists {
        &self.lists
    }

    /// All names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.types.keys().map(ToString::to_string).collect()
    }

    /// The table's name.
    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    /// The calculated columns that these need, in the order that they are computed in, and the columns of the table that all need.
    pub(crate) fn needed<'a>(
        &'a self,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> (Vec<&'a CalculatedColumn>, Vec<String>) {
        let mut wanted: std::collections::BTreeSet<String> = columns.into_iter().map(str::to_owned).collect();
        let mut calculated = Vec::new();
        for column in self.forest.columns().iter().rev() {
            if wanted.remove(&column.name) {
                wanted.extend(column.inputs());
                calculated.push(column);
            }
        }
        calculated.reverse();
        (calculated, wanted.into_iter().collect())
    }

    /// A calculated column, from its inputs in order.
    pub(crate) fn calculate(
        &self,
        column: &CalculatedColumn,
        inputs: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef, CubeError> {
        let place = format!("column {:?}", column.name);
        let values = match &column.formula {
            ColumnFormula::Expression(ExpressionText(expression)) => {
                let named = Named { names: &column.inputs(), arrays: inputs, rows };
                expression.evaluate(&named).map_err(|error| error.of_place(&place))?
            }
            ColumnFormula::Function { name, .. } => {
                let function =
                    self.forest.registry().cells.get(name).ok_or_else(|| CubeError::InvalidMeasure {
                        measure: column.name.clone(),
                        problem: format!("no function is registered as {name:?}"),
                    })?;
                let failed = |message| CubeError::Computation { place: place.clone(), message };
                function(inputs).map_err(failed)?
            }
        };
        if values.len() == rows {
            return Ok(values);
        }
        let message = format!("it gave {} values for {rows} rows", values.len());
        Err(CubeError::Computation { place, message })
    }
}

/// Arrays with names beside them.
pub(crate) struct Named<'a> {
    pub(crate) names: &'a [String],
    pub(crate) arrays: &'a [ArrayRef],
    pub(crate) rows: usize,
}

impl ColumnSource for Named<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, name: &str) -> Result<ArrayRef, CubeError> {
        let index = self.names.iter().position(|known| known == name);
        index.and_then(|index| self.arrays.get(index)).map(Arc::clone).ok_or_else(|| {
            CubeError::InvalidExpression { at: 0, problem: format!("there is no {name:?} here") }
        })
    }
}
