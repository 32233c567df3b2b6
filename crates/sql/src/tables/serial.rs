//! The numbers of a column that is a `SERIAL`: a function that is the column's default, and gives
//! another number for each row.

use arrow::array::Int64Array;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The next number of a column. Numbers that an INSERT took and did not write are gone, as in
/// PostgreSQL.
#[derive(Debug)]
pub(super) struct Serial(AtomicI64);

impl Serial {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(1)))
    }

    /// Begins anew.
    pub(super) fn restart(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// The number that the next row gets.
    pub(super) fn next_number(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Goes on with that number.
    pub(super) fn go_on(&self, number: i64) {
        self.0.store(number, Ordering::Relaxed);
    }

    /// The expression that takes a number.
    pub(super) fn next(self: &Arc<Self>) -> Expr {
        let signature = Signature::nullary(Volatility::Volatile);
        let function = NextNumber { serial: Arc::clone(self), signature };
        ScalarUDF::new_from_impl(function).call(Vec::new())
    }
}

#[derive(Debug)]
struct NextNumber {
    serial: Arc<Serial>,
    signature: Signature,
}

impl PartialEq for NextNumber {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.serial, &other.serial)
    }
}

impl Eq for NextNumber {}

impl Hash for NextNumber {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.serial).hash(state);
    }
}

impl ScalarUDFImpl for NextNumber {
    fn name(&self) -> &str {
        "__next_number"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows as i64;
        let first = self.serial.0.fetch_add(rows, Ordering::Relaxed);
        Ok(ColumnarValue::Array(Arc::new(Int64Array::from_iter_values(first..first + rows))))
    }
}
