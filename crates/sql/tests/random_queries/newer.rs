//! Statements of what came later: windows with an order, subqueries in a select list, set operations with `ALL`, changes that give rows.
//! They have seeds of their own, so that those that found mistakes in other queries mean the same.

use super::generator::{Kind, NAMES, Random, Select};

/// A query as we and as SQLite write it.
pub(crate) struct Both {
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

impl Both {
    fn same(text: String) -> Self {
        Self { theirs: text.clone(), ours: text }
    }
}

/// Makes a query, whose rows may come in any order.
pub(crate) fn query(random: &mut Random) -> Both {
    match random.below(3) {
        0 => Both::same(window(random)),
        1 => Both::same(asked(random)),
        _ => with_all(random),
    }
}

/// Every row has its own place in the order, so that there is one answer.
fn window(random: &mut Random) -> String {
    let table = random.pick(&NAMES);
    let columns: Vec<String> = (0..1 + random.below(3))
        .map(|number| {
            let function = random.pick(&[
                "row_number()",
                "rank()",
                "dense_rank()",
                "ntile(3)",
                "lag(x.a)",
                "lead(x.b, 2)",
                "lag(x.b, 1, -7)",
                "first_value(x.a)",
                "last_value(x.s)",
                "nth_value(x.b, 2)",
                "sum(x.a)",
                "count(x.a)",
                "count(*)",
                "min(x.b)",
                "max(x.s)",
            ]);
            let by =
                random.pick(&["", "PARTITION BY x.s ", "PARTITION BY x.a ", "PARTITION BY x.__key % 3 "]);
            let order = random.pick(&["x.b NULLS FIRST, ", "x.s DESC NULLS LAST, ", "x.a NULLS LAST, ", ""]);
            let way = random.pick(&["ASC", "DESC"]);
            let frame = random.pick(&[
                "",
                "",
                " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
                " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
                " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
                " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
            ]);
            format!("{function} OVER ({by}ORDER BY {order}x.__key {way}{frame}) AS w{number}")
        })
        .collect();
    let filter = random.pick(&["", " WHERE x.a > 0", " WHERE x.s IS NOT NULL", " WHERE x.__key > 5"]);
    format!("SELECT x.__key, {} FROM {table} AS x{filter}", columns.join(", "))
}

/// Subqueries that look at the row around them, in a select list.
fn asked(random: &mut Random) -> String {
    let (table, inner) = (random.pick(&NAMES), random.pick(&NAMES));
    let columns: Vec<String> = (0..1 + random.below(2))
        .map(|number| {
            let value = random.pick(&["count(*)", "count(y.a)", "sum(y.b)", "min(y.s)", "max(y.a) - 1"]);
            let operator = random.pick(&["=", "=", "<", "<=", ">", "<>"]);
            let (left, right) = (random.pick(&["a", "b", "__key"]), random.pick(&["a", "b", "__key"]));
            let more = random.pick(&["", "", " AND y.b > 100", " AND y.s IS NOT NULL", " AND y.a >= x.a"]);
            let having = random.pick(&["", "", " HAVING count(*) > 1", " HAVING max(y.b) > 300"]);
            let found = format!(
                "(SELECT {value} FROM {inner} AS y WHERE y.{left} {operator} x.{right}{more}{having})"
            );
            match random.below(4) {
                0 => format!("CASE WHEN {found} IS NULL THEN 1 ELSE 0 END AS v{number}"),
                _ => format!("{found} AS v{number}"),
            }
        })
        .collect();
    let filter = random.pick(&["", "", " WHERE x.a > 0", " WHERE x.__key IN (1, 2, 3)"]);
    format!("SELECT x.__key, {} FROM {table} AS x{filter}", columns.join(", "))
}

/// SQLite has no `ALL` but of `UNION`: there equal rows get numbers.
fn with_all(random: &mut Random) -> Both {
    let kind = random.pick(&["INTERSECT", "EXCEPT"]);
    let types: Vec<Kind> = (0..1 + random.below(2)).map(|_| Kind::any(random)).collect();
    let (left, right) = (Select::new(random).plain(&types), Select::new(random).plain(&types));
    let columns: Vec<String> = (0..types.len()).map(|number| format!("c{number}")).collect();
    let columns = columns.join(", ");
    let numbered = |rows: &str| {
        format!(
            "SELECT {columns}, row_number() OVER (PARTITION BY {columns}) AS n FROM (SELECT * FROM ({rows}) LIMIT -1)"
        )
    };
    let theirs = format!("SELECT {columns} FROM ({} {kind} {})", numbered(&left), numbered(&right));
    Both { ours: format!("{left} {kind} ALL {right}"), theirs }
}

/// Makes a change of the table `changed (__key, a, b)` that gives back its rows.
pub(crate) fn change(random: &mut Random) -> String {
    let value = |random: &mut Random| (random.below(40) as i64 - 10).to_string();
    let condition = |random: &mut Random, of: &str| {
        let bound = random.below(30) as i64 - 5;
        match random.below(5) {
            0 => format!("{of}a > {bound}"),
            1 => format!("{of}b % 3 = 1"),
            2 => format!("{of}a IS NULL OR {of}__key < {bound}"),
            3 => format!("NOT ({of}a < {of}b)"),
            _ => format!("{of}__key % 2 = 0 AND {of}b <> {bound}"),
        }
    };
    let returning = random.pick(&["__key, a, b", "a + b, __key * 10", "*", "coalesce(a, -1) AS a"]);
    match random.below(4) {
        0 | 1 => {
            let first = random.below(30);
            let rows: Vec<String> = (0..1 + random.below(6))
                .map(|at| {
                    let a = if random.one_in(4) { "NULL".to_owned() } else { value(random) };
                    format!("({}, {a}, {})", first + at * 2, value(random))
                })
                .collect();
            let action = match random.below(3) {
                0 => "DO NOTHING".to_owned(),
                1 => "DO UPDATE SET a = excluded.a, b = changed.b + excluded.b".to_owned(),
                _ => {
                    let only = condition(random, random_side(first));
                    format!("DO UPDATE SET b = excluded.b - changed.b WHERE {only}")
                }
            };
            format!(
                "INSERT INTO changed (__key, a, b) VALUES {} ON CONFLICT (__key) {action} RETURNING {returning}",
                rows.join(", ")
            )
        }
        2 => {
            let set = random.pick(&["a = a + b", "a = NULL", "b = b * 2 - 1, a = b", "a = coalesce(a, 3)"]);
            format!("UPDATE changed SET {set} WHERE {} RETURNING {returning}", condition(random, ""))
        }
        _ => format!(
            "DELETE FROM changed WHERE ({}) AND b % 4 = 0 RETURNING {returning}",
            condition(random, "")
        ),
    }
}

fn random_side(number: usize) -> &'static str {
    if number.is_multiple_of(2) { "changed." } else { "excluded." }
}
