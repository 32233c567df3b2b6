//! Formulas as people write them.

use super::{Arithmetic, Expression, Function, MOST_NODES, Node, Sign};
use crate::error::CubeError;
use crate::syntax::{Kind, MAX_DEPTH, Token, Tokens};
use std::str::FromStr;
use std::sync::Arc;

impl FromStr for Expression {
    type Err = CubeError;

    fn from_str(text: &str) -> Result<Self, CubeError> {
        let mut parser = Parser { tokens: Tokens::of(text, Kind::Expression)?, nodes: 0 };
        let node = parser.comparison(0)?;
        parser.tokens.expect_end()?;
        Ok(Self { text: text.into(), node: Arc::new(node) })
    }
}

/// Reads a formula, and counts its nodes.
struct Parser {
    tokens: Tokens,
    nodes: usize,
}

impl Parser {
    fn comparison(&mut self, depth: usize) -> Result<Node, CubeError> {
        let left = self.sum(depth)?;
        let sign = match self.tokens.peek() {
            Some(Token::Sign("=")) => Sign::Equal,
            Some(Token::Sign("<>" | "!=")) => Sign::NotEqual,
            Some(Token::Sign("<")) => Sign::Less,
            Some(Token::Sign("<=")) => Sign::AtMost,
            Some(Token::Sign(">")) => Sign::Greater,
            Some(Token::Sign(">=")) => Sign::AtLeast,
            _ => return Ok(left),
        };
        self.tokens.take();
        let right = self.sum(depth)?;
        Ok(chain(left, vec![(sign, right)]))
    }

    fn sum(&mut self, depth: usize) -> Result<Node, CubeError> {
        let first = self.product(depth)?;
        let mut others = Vec::new();
        loop {
            let sign = match self.tokens.peek() {
                Some(Token::Sign("+")) => Arithmetic::Add,
                Some(Token::Sign("-")) => Arithmetic::Subtract,
                _ => return Ok(chain(first, others)),
            };
            self.tokens.take();
            others.push((Sign::Arithmetic(sign), self.product(depth)?));
        }
    }

    fn product(&mut self, depth: usize) -> Result<Node, CubeError> {
        let first = self.operand(depth)?;
        let mut others = Vec::new();
        loop {
            let sign = match self.tokens.peek() {
                Some(Token::Sign("*")) => Sign::Arithmetic(Arithmetic::Multiply),
                Some(Token::Sign("/")) => Sign::Divide,
                _ => return Ok(chain(first, others)),
            };
            self.tokens.take();
            others.push((sign, self.operand(depth)?));
        }
    }

    fn operand(&mut self, depth: usize) -> Result<Node, CubeError> {
        if depth > MAX_DEPTH {
            let problem = format!("it is nested deeper than {MAX_DEPTH} levels; use several measures");
            return Err(self.tokens.error(problem));
        }
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            let problem = format!("there are more than {MOST_NODES} operands; use several measures");
            return Err(self.tokens.error(problem));
        }
        if self.tokens.take_sign("-") {
            return Ok(Node::Negative(Box::new(self.operand(depth + 1)?)));
        }
        if self.tokens.take_sign("(") {
            let inner = self.comparison(depth + 1)?;
            self.tokens.expect_sign(")")?;
            return Ok(inner);
        }
        let node = match self.tokens.peek().cloned() {
            Some(Token::Int(value)) => Node::Int(value),
            Some(Token::Float(value)) => Node::Float(value),
            Some(Token::Text(text)) => Node::Text(text.into()),
            Some(Token::Quoted(name)) => Node::Name(name.into()),
            Some(Token::Name(name)) => {
                self.tokens.take();
                return if self.tokens.take_sign("(") {
                    self.call(&name, depth)
                } else {
                    Ok(Node::Name(name.into()))
                };
            }
            _ => return Err(self.tokens.error("a name, a number, a text or ( is expected here".to_owned())),
        };
        self.tokens.take();
        Ok(node)
    }

    fn call(&mut self, name: &str, depth: usize) -> Result<Node, CubeError> {
        let known = Function::ALL.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
        let Some((_, function, fewest, most)) = known else {
            let known: Vec<&str> = Function::ALL.iter().map(|(known, ..)| *known).collect();
            let problem = format!("there is no function {name}; there are: {}", known.join(", "));
            return Err(self.tokens.error(problem));
        };
        let mut arguments = Vec::new();
        if !self.tokens.take_sign(")") {
            loop {
                arguments.push(self.comparison(depth + 1)?);
                if self.tokens.take_sign(")") {
                    break;
                }
                self.tokens.expect_sign(",")?;
            }
        }
        if !(*fewest..=*most).contains(&arguments.len()) {
            let expected = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
            let problem = format!("{name} takes {expected} arguments, not {}", arguments.len());
            return Err(self.tokens.error(problem));
        }
        Ok(Node::Call(*function, arguments))
    }
}

/// Operands in a row; one alone is itself.
fn chain(first: Node, others: Vec<(Sign, Node)>) -> Node {
    if others.is_empty() { first } else { Node::Chain(Box::new(first), others) }
}
