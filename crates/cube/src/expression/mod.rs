//! Formulas over measures or columns: `pnl / coalesce(notional, 1)`.
//!
//! A formula is parsed once, when its forest is built, and evaluated over whole Arrow arrays. Names are measures in a combinator, columns in
//! a calculated column. A missing value makes the result missing, but in `coalesce` and `if`. `/` gives a float; `+`, `-` and `*` of whole
//! numbers stay whole, and an overflow is an error, never a wrong figure.
//!
//! A formula may come from anywhere, and is walked by recursion on threads with a usual stack. So the parser bounds how deep its tree is
//! (`MAX_DEPTH` levels of brackets, each at most a comparison of sums of products) and how many nodes it has.

mod arithmetic;
mod evaluate;
mod text;

pub(crate) use arithmetic::{Arithmetic, Operand, arithmetic, numeric, promoted};

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A formula over names.
///
/// ```
/// use filbert_cube::Expression;
///
/// let ratio: Expression = "pnl / coalesce(notional, 1)".parse()?;
/// assert_eq!(ratio.names(), ["notional", "pnl"]);
/// # Ok::<(), filbert_cube::CubeError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Expression {
    text: Arc<str>,
    node: Arc<Node>,
}

/// More nodes than any formula that people write; each costs a pass over the rows.
const MOST_NODES: usize = 4_096;

/// A node of a formula.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    Name(Arc<str>),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    Negative(Box<Node>),
    /// Operands in a row, from left to right. In one node, because nodes are walked by recursion: a tree that leans to the left would be as
    /// deep as the row is long.
    Chain(Box<Node>, Vec<(Sign, Node)>),
    Call(Function, Vec<Node>),
}

/// What stands between two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Arithmetic(Arithmetic),
    Divide,
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// What can be called, and with how many arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Abs,
    Ceil,
    Coalesce,
    Exp,
    Floor,
    If,
    Ln,
    Max,
    Min,
    Power,
    Sqrt,
}

impl Function {
    const ALL: [(&'static str, Function, usize, usize); 11] = [
        ("abs", Function::Abs, 1, 1),
        ("ceil", Function::Ceil, 1, 1),
        ("coalesce", Function::Coalesce, 1, 64),
        ("exp", Function::Exp, 1, 1),
        ("floor", Function::Floor, 1, 1),
        ("if", Function::If, 3, 3),
        ("ln", Function::Ln, 1, 1),
        ("max", Function::Max, 1, 64),
        ("min", Function::Min, 1, 64),
        ("power", Function::Power, 2, 2),
        ("sqrt", Function::Sqrt, 1, 1),
    ];
}

impl Expression {
    /// The names in it, each once, in order.
    pub fn names(&self) -> Vec<String> {
        let (mut names, mut rest) = (BTreeSet::new(), vec![&*self.node]);
        while let Some(node) = rest.pop() {
            match node {
                Node::Name(name) => {
                    names.insert(name.to_string());
                }
                Node::Int(_) | Node::Float(_) | Node::Text(_) => {}
                Node::Negative(inner) => rest.push(inner),
                Node::Chain(first, others) => {
                    rest.push(first);
                    rest.extend(others.iter().map(|(_, operand)| operand));
                }
                Node::Call(_, arguments) => rest.extend(arguments),
            }
        }
        names.into_iter().collect()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({})", self.text)
    }
}

#[cfg(test)]
mod tests;
