//! Formulas as people write them.

use super::{Arithmetic, Expression, Function, Node, Sign};
use crate::error::CubeError;
use crate::syntax::{Kind, MAX_DEPTH, Token, Tokens};
use std::str::FromStr;
use std::sync::Arc;

impl FromStr for Expression {
    type Err = CubeError;

    fn from_str(text: &str) -> Result<Self, CubeError> {
        let mut tokens = Tokens::of(text, Kind::Expression)?;
        let node = comparison(&mut tokens, 0)?;
        tokens.expect_end()?;
        Ok(Self { text: text.into(), node: Arc::new(node) })
    }
}

fn comparison(tokens: &mut Tokens, depth: usize) -> Result<Node, CubeError> {
    let left = sum(tokens, depth)?;
    let sign = match tokens.peek() {
        Some(Token::Sign("=")) => Sign::Equal,
        Some(Token::Sign("<>" | "!=")) => Sign::NotEqual,
        Some(Token::Sign("<")) => Sign::Less,
        Some(Token::Sign("<=")) => Sign::AtMost,
        Some(Token::Sign(">")) => Sign::Greater,
        Some(Token::Sign(">=")) => Sign::AtLeast,
        _ => return Ok(left),
    };
    tokens.take();
    Ok(Node::Binary(sign, Box::new(left), Box::new(sum(tokens, depth)?)))
}

fn sum(tokens: &mut Tokens, depth: usize) -> Result<Node, CubeError> {
    let mut left = product(tokens, depth)?;
    let mut operands = 1;
    loop {
        let sign = match tokens.peek() {
            Some(Token::Sign("+")) => Arithmetic::Add,
            Some(Token::Sign("-")) => Arithmetic::Subtract,
            _ => return Ok(left),
        };
        tokens.take();
        left = Node::Binary(Sign::Arithmetic(sign), Box::new(left), Box::new(product(tokens, depth)?));
        chain_is_short(tokens, &mut operands)?;
    }
}

fn product(tokens: &mut Tokens, depth: usize) -> Result<Node, CubeError> {
    let mut left = operand(tokens, depth)?;
    let mut operands = 1;
    loop {
        let sign = match tokens.peek() {
            Some(Token::Sign("*")) => Sign::Arithmetic(Arithmetic::Multiply),
            Some(Token::Sign("/")) => Sign::Divide,
            _ => return Ok(left),
        };
        tokens.take();
        left = Node::Binary(sign, Box::new(left), Box::new(operand(tokens, depth)?));
        chain_is_short(tokens, &mut operands)?;
    }
}

/// The tree leans to the left and is walked by recursion, so a chain of operators is as deep as it is long.
fn chain_is_short(tokens: &Tokens, operands: &mut usize) -> Result<(), CubeError> {
    *operands += 1;
    if *operands <= 256 {
        return Ok(());
    }
    Err(tokens
        .error("there are more than 256 operands in a row; use parentheses or several measures".to_owned()))
}

fn operand(tokens: &mut Tokens, depth: usize) -> Result<Node, CubeError> {
    if depth > MAX_DEPTH {
        return Err(
            tokens.error(format!("it is nested deeper than {MAX_DEPTH} levels; use several measures"))
        );
    }
    if tokens.take_sign("-") {
        return Ok(Node::Negative(Box::new(operand(tokens, depth + 1)?)));
    }
    if tokens.take_sign("(") {
        let inner = comparison(tokens, depth + 1)?;
        tokens.expect_sign(")")?;
        return Ok(inner);
    }
    let node = match tokens.peek().cloned() {
        Some(Token::Int(value)) => Node::Int(value),
        Some(Token::Float(value)) => Node::Float(value),
        Some(Token::Text(text)) => Node::Text(text.into()),
        Some(Token::Quoted(name)) => Node::Name(name.into()),
        Some(Token::Name(name)) => {
            tokens.take();
            return if tokens.take_sign("(") {
                call(tokens, &name, depth)
            } else {
                Ok(Node::Name(name.into()))
            };
        }
        _ => return Err(tokens.error("a name, a number, a text or ( is expected here".to_owned())),
    };
    tokens.take();
    Ok(node)
}

fn call(tokens: &mut Tokens, name: &str, depth: usize) -> Result<Node, CubeError> {
    let known = Function::ALL.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
    let Some((_, function, fewest, most)) = known else {
        let known: Vec<&str> = Function::ALL.iter().map(|(known, ..)| *known).collect();
        return Err(tokens.error(format!("there is no function {name}; there are: {}", known.join(", "))));
    };
    let mut arguments = Vec::new();
    if !tokens.take_sign(")") {
        loop {
            arguments.push(comparison(tokens, depth + 1)?);
            if tokens.take_sign(")") {
                break;
            }
            tokens.expect_sign(",")?;
        }
    }
    if !(*fewest..=*most).contains(&arguments.len()) {
        let expected = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
        return Err(tokens.error(format!("{name} takes {expected} arguments, not {}", arguments.len())));
    }
    Ok(Node::Call(*function, arguments))
}
