//! The time zone of a session: which moment a text without a zone is, and which hour and day a moment is.
//!
//! Moments (`timestamptz`) are in UTC throughout the engine; their type says so, whatever the session's zone is. The zone counts only where a
//! moment is made of something that has none, or becomes something that has none. So [`SessionZone`] looks at casts between the two, those that
//! coercion has made included, and at the functions that take the parts of a moment, and lets each go by way of the session's zone. Rejected:
//! to give the zone to the types. A table keeps its moments in UTC, and what is compared with them would be read in UTC too.
//!
//! `x AT TIME ZONE 'z'` becomes PostgreSQL's function `timezone('z', x)` before the statement is planned, see [`name_zones`]: the planner would make a
//! cast of it, which gives a moment where PostgreSQL gives the time on the clocks of that zone. Threads: planning and fragments.

use super::expressions::changed_expressions;
use crate::error::SqlError;
use crate::walk;
use arrow::array::temporal_conversions::as_datetime_with_timezone;
use arrow::array::timezone::Tz;
use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowTimestampType, DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{Cast, ScalarFunction, TryCast};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, Statement, VisitorMut,
};
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

/// The setting that names the zone.
pub(crate) const ZONE_SETTING: &str = "datafusion.execution.time_zone";

/// The zone that moments are kept in.
const UTC: &str = "UTC";

/// Refuses what is no time zone.
///
/// # Errors
/// When it is neither a name such as `Europe/Oslo` nor an offset such as `+02:00`.
pub(crate) fn check_zone(zone: &str) -> Result<(), SqlError> {
    match zone.parse::<Tz>() {
        Ok(_) => Ok(()),
        Err(_) => {
            let begin: String = zone.chars().take(100).collect();
            Err(SqlError::Refused(format!(
                "there is no time zone {begin:?}; name one as Europe/Oslo, or an offset as +02:00"
            )))
        }
    }
}

/// Lets moments and times of the clock become each other in the zone of the session.
#[derive(Debug)]
pub(crate) struct SessionZone;

impl AnalyzerRule for SessionZone {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let zone = config.execution.time_zone.as_deref().filter(|zone| !is_utc(zone));
        let Some(zone) = zone else { return Ok(plan) };
        let zone: Arc<str> = Arc::from(zone);
        // Moments keep their types, so that no plan above sees a difference.
        let crossing =
            |plan| changed_expressions(plan, may_cross, |expr, schema| crossed(expr, schema, &zone));
        Ok(plan.transform_up_with_subqueries(crossing)?.data)
    }

    fn name(&self) -> &str {
        "session_zone"
    }
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, UTC | "+00:00" | "Etc/UTC")
}

/// True when the zone of the session may count here.
fn may_cross(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(Cast { field, .. }) | Expr::TryCast(TryCast { field, .. }) => {
            is_moment(field.data_type()) || is_clock(field.data_type())
        }
        Expr::ScalarFunction(function) => takes_parts(function),
        _ => false,
    }
}

fn is_moment(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, Some(_)))
}

/// True for what moments are made of, and become, by a zone.
fn is_clock(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Timestamp(_, None)
            | DataType::Date32
            | DataType::Date64
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
    )
}

/// True for functions whose answer depends on the clock of a place.
fn takes_parts(function: &ScalarFunction) -> bool {
    matches!(
        function.func.name(),
        "date_part" | "date_trunc" | "date_bin" | "to_char" | "to_date" | "to_time" | "to_local_time"
    )
}

fn crossed(expr: Expr, schema: &DFSchema, zone: &Arc<str>) -> Result<Transformed<Expr>> {
    // What has no type here, such as a column of a query around this one, is seen where it has one, or by nobody.
    let type_of = |expr: &Expr| expr.get_type(schema).ok();
    match expr {
        Expr::Cast(Cast { expr: from, field }) => {
            let Some(by_way) = type_of(&from).and_then(|from| way(&from, field.data_type(), zone)) else {
                return Ok(Transformed::no(Expr::Cast(Cast { expr: from, field })));
            };
            let from = match by_way {
                Way::Clock(steps) => on_clocks(stepped(*from, steps), zone),
                Way::Types(steps) => stepped(*from, steps),
            };
            Ok(Transformed::yes(Expr::Cast(Cast::new_from_field(Box::new(from), field))))
        }
        Expr::TryCast(TryCast { expr: from, field }) => {
            let Some(by_way) = type_of(&from).and_then(|from| way(&from, field.data_type(), zone)) else {
                return Ok(Transformed::no(Expr::TryCast(TryCast { expr: from, field })));
            };
            let from = match by_way {
                Way::Clock(steps) => on_clocks(tried(*from, steps), zone),
                Way::Types(steps) => tried(*from, steps),
            };
            Ok(Transformed::yes(Expr::TryCast(TryCast::new_from_field(Box::new(from), field))))
        }
        Expr::ScalarFunction(function) if takes_parts(&function) => {
            let ScalarFunction { func, args } = function;
            let mut was = None;
            let args = args.into_iter().map(|argument| match type_of(&argument) {
                Some(DataType::Timestamp(unit, Some(own))) if own != *zone => {
                    was = Some(DataType::Timestamp(unit, Some(own)));
                    stepped(argument, vec![DataType::Timestamp(unit, Some(Arc::clone(zone)))])
                }
                _ => argument,
            });
            let args = args.collect();
            let call = Expr::ScalarFunction(ScalarFunction { func, args });
            let gives_moment = type_of(&call).is_some_and(|gives| is_moment(&gives));
            Ok(match was {
                Some(was) if gives_moment => Transformed::yes(stepped(call, vec![was])),
                was => Transformed::new_transformed(call, was.is_some()),
            })
        }
        other => Ok(Transformed::no(other)),
    }
}

fn stepped(from: Expr, steps: Vec<DataType>) -> Expr {
    steps.into_iter().fold(from, |from, step| Expr::Cast(Cast::new(Box::new(from), step)))
}

fn tried(from: Expr, steps: Vec<DataType>) -> Expr {
    steps.into_iter().fold(from, |from, step| Expr::TryCast(TryCast::new(Box::new(from), step)))
}

/// How a cast goes through the zone.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// By way of these types.
    Types(Vec<DataType>),
    /// By way of these types, and then from a moment to what the clocks there show, or back. A cast that cuts the zone off a type shows the clocks
    /// of UTC, and one that adds it knows no time that the clocks show twice.
    Clock(Vec<DataType>),
}

/// A moment as the clocks of a zone show it, or the other way round.
fn on_clocks(moment: Expr, zone: &Arc<str>) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(TimeZone::new())));
    FUNCTION.call(vec![Expr::Literal(ScalarValue::from(zone.as_ref()), None), moment])
}

/// How a cast goes through the zone; `None` when it has nothing to do with one.
fn way(from: &DataType, to: &DataType, zone: &Arc<str>) -> Option<Way> {
    let here = |unit: TimeUnit| DataType::Timestamp(unit, Some(Arc::clone(zone)));
    match (from, to) {
        (DataType::Timestamp(_, Some(_)), DataType::Timestamp(_, None)) => Some(Way::Clock(vec![])),
        (DataType::Timestamp(_, None), DataType::Timestamp(_, Some(own))) if own != zone => {
            Some(Way::Clock(vec![]))
        }
        (DataType::Date32 | DataType::Date64, DataType::Timestamp(unit, Some(own))) if own != zone => {
            Some(Way::Clock(vec![DataType::Timestamp(*unit, None)]))
        }
        (from, DataType::Timestamp(unit, Some(own))) if own != zone && is_clock(from) => {
            Some(Way::Types(vec![here(*unit)]))
        }
        (DataType::Timestamp(unit, Some(own)), to) if own != zone && is_clock(to) => {
            Some(Way::Types(vec![here(*unit)]))
        }
        _ => None,
    }
}

/// Writes `x AT TIME ZONE 'z'` as a call of [`TimeZone`].
pub(crate) fn name_zones(statement: &mut Statement) {
    struct Naming;
    impl VisitorMut for Naming {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut SqlExpr) -> ControlFlow<()> {
            if let SqlExpr::AtTimeZone { timestamp, time_zone } = expr {
                let argument = |of: &SqlExpr| FunctionArg::Unnamed(FunctionArgExpr::Expr(of.clone()));
                let list = FunctionArgumentList {
                    duplicate_treatment: None,
                    args: vec![argument(time_zone), argument(timestamp)],
                    clauses: Vec::new(),
                };
                *expr = SqlExpr::Function(Function {
                    name: ObjectName::from(vec![Ident::new(TimeZone::NAME)]),
                    uses_odbc_syntax: false,
                    parameters: FunctionArguments::None,
                    args: FunctionArguments::List(list),
                    filter: None,
                    null_treatment: None,
                    over: None,
                    within_group: Vec::new(),
                });
            }
            ControlFlow::Continue(())
        }
    }
    let _ = walk::change_statement(statement, &mut Naming);
}

/// `timezone('Europe/Oslo', x)`: a moment as the clocks of a zone show it, or the moment at which they show that.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TimeZone {
    signature: Signature,
}

impl TimeZone {
    const NAME: &str = "timezone";

    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for TimeZone {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [zone, moment] = types else {
            return plan_err!("timezone takes a time zone and a timestamp");
        };
        if !matches!(zone, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null) {
            return plan_err!("the time zone of AT TIME ZONE is a text such as 'Europe/Oslo'");
        }
        let moment = match moment {
            DataType::Timestamp(..) => moment.clone(),
            // As PostgreSQL reads them: a moment of the session's zone.
            DataType::Date32
            | DataType::Date64
            | DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Null => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            other => return plan_err!("AT TIME ZONE takes a timestamp, not a value of type {other}"),
        };
        Ok(vec![DataType::Utf8, moment])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [_, DataType::Timestamp(unit, Some(_))] => Ok(DataType::Timestamp(*unit, None)),
            [_, DataType::Timestamp(unit, None)] => Ok(DataType::Timestamp(*unit, Some(UTC.into()))),
            _ => plan_err!("timezone takes a time zone and a timestamp"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let to = args.return_field.data_type().clone();
        let [zone, moment] = args.args.as_slice() else {
            return plan_err!("timezone takes a time zone and a timestamp");
        };
        let ColumnarValue::Scalar(zone) = zone else {
            return plan_err!("the time zone of AT TIME ZONE is the same for all rows: write it as a text");
        };
        let Some(zone) = zone.try_as_str().flatten() else {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(&to)?));
        };
        check_zone(zone).map_err(|refused| DataFusionError::Execution(refused.to_string()))?;
        let (DataType::Timestamp(unit, _), is_scalar) = (&to, matches!(moment, ColumnarValue::Scalar(_)))
        else {
            return plan_err!("timezone gives a timestamp");
        };
        let moment = match moment {
            ColumnarValue::Scalar(scalar) => scalar.to_array()?,
            ColumnarValue::Array(all) => Arc::clone(all),
        };
        let given = match moment.data_type() {
            DataType::Timestamp(_, Some(_)) => clocks(&moment, *unit, zone.parse()?)?,
            // Then marked as UTC, which changes no number.
            _ => cast(&moments(&moment, *unit, zone.parse()?)?, &to)?,
        };
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&given, 0)?),
            false => ColumnarValue::Array(given),
        })
    }
}

/// Moments as the clocks of a zone show them.
fn clocks(moments: &ArrayRef, unit: TimeUnit, zone: Tz) -> Result<ArrayRef> {
    moved(moments, unit, |moment| ahead(moment, zone))
}

/// The moments at which the clocks of a zone show some times.
fn moments(shown: &ArrayRef, unit: TimeUnit, zone: Tz) -> Result<ArrayRef> {
    moved(shown, unit, |shown| Some(-ahead_where_shown(shown, zone)?))
}

/// How many seconds the clocks of a zone are ahead of UTC at a moment.
fn ahead(moment: i64, zone: Tz) -> Option<i64> {
    let there = as_datetime_with_timezone::<TimestampSecondType>(moment, zone)?;
    Some((there.naive_local() - there.naive_utc()).num_seconds())
}

/// How many seconds they are ahead when they show a time. As in PostgreSQL: a time that they show twice is the later moment, and one that they skip is
/// what it would be by the clocks before.
fn ahead_where_shown(shown: i64, zone: Tz) -> Option<i64> {
    const DAY: i64 = 86_400;
    let (before, after) = (ahead(shown.checked_sub(DAY)?, zone)?, ahead(shown.checked_add(DAY)?, zone)?);
    let is_shown = |by: i64| ahead(shown - by, zone) == Some(by);
    Some(match (is_shown(before), is_shown(after)) {
        (true, true) => before.min(after),
        (false, true) => after,
        (_, false) => before,
    })
}

/// Timestamps, each as many seconds later as is said of its own seconds.
fn moved(all: &ArrayRef, unit: TimeUnit, seconds: impl Fn(i64) -> Option<i64>) -> Result<ArrayRef> {
    fn each<T: ArrowTimestampType>(
        all: &ArrayRef,
        in_second: i64,
        seconds: impl Fn(i64) -> Option<i64>,
    ) -> Result<ArrayRef> {
        let moved = all.as_primitive::<T>().try_unary::<_, T, DataFusionError>(|value| {
            let seconds = seconds(value.div_euclid(in_second));
            let moved = seconds.and_then(|seconds| value.checked_add(seconds * in_second));
            moved.ok_or_else(|| {
                DataFusionError::Execution(format!("the timestamp {value} is beyond what a calendar shows"))
            })
        })?;
        Ok(Arc::new(moved))
    }
    match unit {
        TimeUnit::Second => each::<TimestampSecondType>(all, 1, seconds),
        TimeUnit::Millisecond => each::<TimestampMillisecondType>(all, 1_000, seconds),
        TimeUnit::Microsecond => each::<TimestampMicrosecondType>(all, 1_000_000, seconds),
        TimeUnit::Nanosecond => each::<TimestampNanosecondType>(all, 1_000_000_000, seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_names_or_offsets() {
        for zone in ["UTC", "Europe/Oslo", "+02:00", "-0330"] {
            assert!(check_zone(zone).is_ok(), "{zone}");
        }
        for zone in ["Mars/Olympus", "", "2", "Oslo"] {
            assert!(check_zone(zone).is_err(), "{zone}");
        }
    }

    #[test]
    fn only_what_changes_sides_goes_by_way_of_the_zone() {
        let zone: Arc<str> = "Europe/Oslo".into();
        let utc = DataType::Timestamp(TimeUnit::Second, Some(UTC.into()));
        let here = DataType::Timestamp(TimeUnit::Second, Some(Arc::clone(&zone)));
        let plain = DataType::Timestamp(TimeUnit::Second, None);
        let types =
            |steps: &[&DataType]| Some(Way::Types(steps.iter().map(|step| (*step).clone()).collect()));
        assert_eq!(way(&DataType::Utf8, &utc, &zone), types(&[&here]));
        assert_eq!(way(&DataType::Date32, &utc, &zone), Some(Way::Clock(vec![plain.clone()])));
        assert_eq!(way(&plain, &utc, &zone), Some(Way::Clock(vec![])));
        assert_eq!(way(&utc, &DataType::Date32, &zone), types(&[&here]));
        assert_eq!(way(&utc, &plain, &zone), Some(Way::Clock(vec![])));
        assert_eq!(way(&here, &plain, &zone), Some(Way::Clock(vec![])));
        assert_eq!(way(&utc, &here, &zone), None);
        assert_eq!(way(&DataType::Utf8, &here, &zone), None);
        assert_eq!(way(&DataType::Utf8, &plain, &zone), None);
        assert_eq!(way(&DataType::Int64, &utc, &zone), None);
    }
}
