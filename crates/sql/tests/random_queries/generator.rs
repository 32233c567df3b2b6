//! Makes tables and queries from a seed, of what both engines mean the same by: whole numbers, texts, NULL.

use std::fmt::Write as _;

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x5DEE_CE66_D1CE_4E5B)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True one time in so many.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

pub(crate) const NAMES: [&str; 3] = ["t0", "t1", "t2"];
const TEXTS: [&str; 8] = ["''", "'a'", "'b'", "'ab'", "'Ab'", "'ba'", "'ccc'", "'it''s'"];
const PATTERNS: [&str; 6] = ["'a%'", "'%b'", "'_'", "'%'", "'_b%'", "'A%'"];

/// A table and its rows, as they are written in SQL.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) rows: Vec<[String; 4]>,
}

impl Table {
    pub(crate) fn values(&self) -> String {
        self.rows.iter().map(|row| format!("({})", row.join(", "))).collect::<Vec<_>>().join(", ")
    }
}

pub(crate) fn tables(random: &mut Random) -> Vec<Table> {
    let make = |name: &&'static str| {
        let count = if random.one_in(10) { 0 } else { 1 + random.below(40) };
        let mut or_null = |value: String| if random.one_in(5) { "NULL".to_owned() } else { value };
        let mut rows = Vec::new();
        for key in 0..count {
            let (a, b, s) = (or_null(String::new()), or_null(String::new()), or_null(String::new()));
            rows.push([key.to_string(), a, b, s]);
        }
        for row in &mut rows {
            if row.iter().skip(1).all(|cell| cell == "NULL") {
                // A map stores no object without a field.
                row[1].clear();
            }
            for (column, cell) in row.iter_mut().enumerate().skip(1) {
                if cell.is_empty() {
                    *cell = match column {
                        1 => (random.below(7) as i64 - 2).to_string(),
                        2 => (random.below(1_000) as i64 - 100).to_string(),
                        _ => random.pick(&TEXTS).to_owned(),
                    };
                }
            }
        }
        Table { name, rows }
    };
    NAMES.iter().map(make).collect()
}

/// A query, whose rows may come in any order.
pub(crate) fn query(random: &mut Random) -> String {
    if random.one_in(6) {
        let kind = random.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
        let types: Vec<Kind> = (0..1 + random.below(3)).map(|_| Kind::any(random)).collect();
        let (left, right) = (Select::new(random).plain(&types), Select::new(random).plain(&types));
        return limited(random, format!("{left} {kind} {right}"), types.len());
    }
    let mut select = Select::new(random);
    let (text, columns) = if select.random.one_in(3) { select.grouped() } else { select.rows() };
    limited(random, text, columns)
}

/// In an order of all columns, a limit leaves one answer only.
fn limited(random: &mut Random, text: String, columns: usize) -> String {
    if !random.one_in(3) {
        return text;
    }
    let order = (1..=columns)
        .map(|column| {
            let way =
                random.pick(&["ASC NULLS FIRST", "ASC NULLS LAST", "DESC NULLS FIRST", "DESC NULLS LAST"]);
            format!("{column} {way}")
        })
        .collect::<Vec<_>>()
        .join(", ");
    let offset = if random.one_in(3) { format!(" OFFSET {}", random.below(5)) } else { String::new() };
    format!("SELECT * FROM ({text}) AS q ORDER BY {order} LIMIT {}{offset}", random.below(20))
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Number,
    Text,
}

impl Kind {
    pub(crate) fn any(random: &mut Random) -> Self {
        if random.one_in(3) { Self::Text } else { Self::Number }
    }
}

/// One SELECT in the making: which tables it has.
pub(crate) struct Select<'r> {
    random: &'r mut Random,
    aliases: Vec<String>,
    from: String,
}

impl<'r> Select<'r> {
    pub(crate) fn new(random: &'r mut Random) -> Self {
        let mut select = Self { random, aliases: Vec::new(), from: String::new() };
        let tables = [1, 1, 1, 2, 2, 3][select.random.below(6)];
        for number in 0..tables {
            let (table, alias) = (select.random.pick(&NAMES), format!("x{number}"));
            if number == 0 {
                select.aliases.push(alias.clone());
                let _ = write!(select.from, "{table} AS {alias}");
                continue;
            }
            let join = select.random.pick(&[
                "JOIN",
                "JOIN",
                "LEFT JOIN",
                "LEFT JOIN",
                "RIGHT JOIN",
                "FULL JOIN",
                "CROSS JOIN",
            ]);
            let other = select.aliases[select.random.below(select.aliases.len())].clone();
            select.aliases.push(alias.clone());
            let _ = write!(select.from, " {join} {table} AS {alias}");
            if join != "CROSS JOIN" {
                let pair =
                    select.random.pick(&["a = @.a", "a = @.__key", "__key = @.__key", "s = @.s", "b = @.b"]);
                let _ = write!(select.from, " ON {alias}.{}", pair.replace('@', &other));
                // A full join takes equalities only.
                if join != "FULL JOIN" && select.random.one_in(4) {
                    let more = select.condition(1);
                    let _ = write!(select.from, " AND {more}");
                }
            }
        }
        select
    }

    fn column(&mut self, kind: Kind) -> String {
        let alias = &self.aliases[self.random.below(self.aliases.len())];
        match kind {
            Kind::Text => format!("{alias}.s"),
            Kind::Number => format!("{alias}.{}", self.random.pick(&["__key", "a", "a", "b"])),
        }
    }

    fn value(&mut self, kind: Kind, depth: usize) -> String {
        if depth == 0 || self.random.one_in(3) {
            return match (self.random.one_in(4), kind) {
                (false, kind) => self.column(kind),
                (true, Kind::Number) => (self.random.below(12) as i64 - 4).to_string(),
                (true, Kind::Text) => self.random.pick(&TEXTS).to_owned(),
            };
        }
        let deeper = depth - 1;
        match kind {
            Kind::Number => match self.random.below(9) {
                0 => format!("({} + {})", self.value(kind, deeper), self.value(kind, deeper)),
                1 => format!("({} - {})", self.value(kind, deeper), self.value(kind, deeper)),
                2 => format!("({} * {})", self.value(kind, deeper), self.random.below(5)),
                3 => format!("({} % {})", self.value(kind, deeper), 1 + self.random.below(6)),
                4 => format!("({} / {})", self.value(kind, deeper), 1 + self.random.below(6)),
                5 => format!("abs({})", self.value(kind, deeper)),
                6 => format!("length({})", self.value(Kind::Text, deeper)),
                7 => format!("(- {})", self.value(kind, deeper)),
                _ => self.either(kind, deeper),
            },
            Kind::Text => match self.random.below(5) {
                0 => format!("({} || {})", self.value(kind, deeper), self.value(kind, deeper)),
                1 => format!("upper({})", self.value(kind, deeper)),
                2 => format!("lower({})", self.value(kind, deeper)),
                3 => format!(
                    "substr({}, {}, {})",
                    self.value(kind, deeper),
                    1 + self.random.below(3),
                    self.random.below(3)
                ),
                _ => self.either(kind, deeper),
            },
        }
    }

    fn either(&mut self, kind: Kind, depth: usize) -> String {
        match self.random.below(3) {
            0 => format!("coalesce({}, {})", self.value(kind, depth), self.value(kind, depth)),
            1 => format!("nullif({}, {})", self.value(kind, depth), self.value(kind, depth)),
            _ => {
                let (when, then, other) =
                    (self.condition(depth), self.value(kind, depth), self.value(kind, depth));
                format!("CASE WHEN {when} THEN {then} ELSE {other} END")
            }
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.one_in(2) {
            let deeper = depth - 1;
            return match self.random.below(5) {
                0 | 1 => format!("({} AND {})", self.condition(deeper), self.condition(deeper)),
                2 | 3 => format!("({} OR {})", self.condition(deeper), self.condition(deeper)),
                _ => format!("(NOT {})", self.condition(deeper)),
            };
        }
        let kind = Kind::any(self.random);
        let depth = depth.min(1);
        let left = self.value(kind, depth);
        match self.random.below(8) {
            0..=2 => {
                let operator = self.random.pick(&["=", "<>", "<", "<=", ">", ">="]);
                format!("{left} {operator} {}", self.value(kind, depth))
            }
            3 => format!("{left} IS {}NULL", self.random.pick(&["", "NOT "])),
            4 => format!(
                "{left} {}BETWEEN {} AND {}",
                self.random.pick(&["", "NOT "]),
                self.value(kind, 0),
                self.value(kind, 0)
            ),
            5 => {
                let list =
                    (0..1 + self.random.below(4)).map(|_| self.value(kind, 0)).collect::<Vec<_>>().join(", ");
                format!("{left} {}IN ({list})", self.random.pick(&["", "NOT "]))
            }
            6 if kind == Kind::Text => {
                format!("{left} {}LIKE {}", self.random.pick(&["", "NOT "]), self.random.pick(&PATTERNS))
            }
            // In parentheses: the parser takes everything behind it for its right side, an AND as well. With the same of the first table.
            _ => {
                let first =
                    (1..4).fold(left.clone(), |text, table| text.replace(&format!("x{table}."), "x0."));
                format!("({left} IS NOT DISTINCT FROM {first})")
            }
        }
    }

    /// A WHERE, maybe with a subquery.
    fn filter(&mut self) -> String {
        if self.random.one_in(4) {
            return String::new();
        }
        let condition = self.condition(2);
        if !self.random.one_in(4) {
            return format!(" WHERE {condition}");
        }
        let (table, outer) = (self.random.pick(&NAMES), self.column(Kind::Number));
        let not = self.random.pick(&["", "NOT "]);
        let sub = match self.random.below(5) {
            0 => {
                let wanted = self.random.pick(&["", "y.a IS NOT NULL AND ", "y.a < 2 AND "]);
                let around = match self.random.below(4) {
                    0 => format!(" AND y.__key <= {outer}"),
                    1 => format!(" AND y.b = {}", self.column(Kind::Number)),
                    _ => String::new(),
                };
                let least = self.random.below(900);
                let rows = format!("SELECT y.a FROM {table} AS y WHERE {wanted}y.b > {least}{around}");
                let found = format!("{outer} {not}IN ({rows})");
                match self.random.below(4) {
                    0 => format!("({found}) IS {}", self.random.pick(&["NULL", "NOT NULL"])),
                    1 => format!("(NOT ({found}))"),
                    2 => format!("CASE WHEN {found} THEN {outer} > 1 ELSE {outer} < 3 END"),
                    _ => format!("({found})"),
                }
            }
            1 => format!("{not}EXISTS (SELECT 1 FROM {table} AS y WHERE y.a = {outer})"),
            2 | 3 => {
                let value = self.random.pick(&[
                    "count(*)",
                    "count(y.a)",
                    "sum(y.b)",
                    "max(y.a) - 1",
                    "coalesce(min(y.b), 2)",
                ]);
                let operator = self.random.pick(&["<", "<=", ">", ">=", "<>"]);
                let other = self.column(Kind::Number);
                let more = match self.random.below(3) {
                    0 => format!(" AND y.__key = {}", self.column(Kind::Number)),
                    1 => " AND y.b > 100".to_owned(),
                    _ => String::new(),
                };
                let having = self.random.pick(&["", "", " HAVING count(*) > 1"]);
                format!(
                    "{outer} < (SELECT {value} FROM {table} AS y WHERE y.a {operator} {other}{more}{having})"
                )
            }
            _ => format!("{outer} < (SELECT max(y.a) FROM {table} AS y)"),
        };
        format!(" WHERE {condition} {} {sub}", self.random.pick(&["AND", "OR"]))
    }

    /// Rows with columns of these kinds.
    pub(crate) fn plain(&mut self, kinds: &[Kind]) -> String {
        let columns: Vec<_> = kinds
            .iter()
            .enumerate()
            .map(|(number, kind)| format!("{} AS c{number}", self.value(*kind, 2)))
            .collect();
        let filter = self.filter();
        format!("SELECT {} FROM {}{filter}", columns.join(", "), self.from)
    }

    fn rows(&mut self) -> (String, usize) {
        let kinds: Vec<Kind> = (0..1 + self.random.below(4)).map(|_| Kind::any(self.random)).collect();
        let mut columns: Vec<_> = kinds
            .iter()
            .enumerate()
            .map(|(number, kind)| format!("{} AS c{number}", self.value(*kind, 2)))
            .collect();
        if self.random.one_in(6) {
            let (value, group) = (self.column(Kind::Number), self.column(Kind::Text));
            let function = self.random.pick(&["sum", "min", "max", "count"]);
            columns.push(format!("{function}({value}) OVER (PARTITION BY {group}) AS w"));
        }
        let distinct = if self.random.one_in(5) { "DISTINCT " } else { "" };
        let filter = self.filter();
        let count = columns.len();
        (format!("SELECT {distinct}{} FROM {}{filter}", columns.join(", "), self.from), count)
    }

    fn grouped(&mut self) -> (String, usize) {
        let keys: Vec<_> = (0..self.random.below(3))
            .map(|_| {
                let kind = Kind::any(self.random);
                self.column(kind)
            })
            .collect();
        let mut columns: Vec<_> =
            keys.iter().enumerate().map(|(number, key)| format!("{key} AS k{number}")).collect();
        for number in 0..1 + self.random.below(3) {
            let value = self.value(Kind::Number, 1);
            let aggregate = match self.random.below(7) {
                0 => "count(*)".to_owned(),
                1 => format!("count({value})"),
                2 => format!("count(DISTINCT {value})"),
                3 => format!("min({value})"),
                4 => format!("max({})", self.value(Kind::Text, 1)),
                _ => format!("sum({value})"),
            };
            columns.push(format!("{aggregate} AS g{number}"));
        }
        let filter = self.filter();
        let mut text = format!("SELECT {} FROM {}{filter}", columns.join(", "), self.from);
        if !keys.is_empty() {
            let _ = write!(text, " GROUP BY {}", keys.join(", "));
            if self.random.one_in(3) {
                let value = self.column(Kind::Number);
                let _ = write!(
                    text,
                    " HAVING {}({value}) > {}",
                    self.random.pick(&["count", "sum", "max"]),
                    self.random.below(5)
                );
            }
        }
        (text, columns.len())
    }
}
