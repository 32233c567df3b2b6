//! What the text of a predicate means, what is refused, and that printing is the way back.

use super::*;
use crate::query::operand::Operand;
use filbert_wire::Value;
use proptest::prelude::*;

fn text(text: &str) -> Operand {
    text.into()
}

#[test]
fn every_test_has_its_predicate() {
    let null = || Operand::new(Value::Null);
    let cases = [
        ("a = 1", Predicate::equal("a", "1")),
        ("a == 'x y'", Predicate::equal("a", "x y")),
        ("a='it''s'", Predicate::equal("a", "it's")),
        ("a = ''", Predicate::equal("a", "")),
        ("a != 1", Predicate::not_equal("a", "1")),
        ("a<>-1.5", Predicate::not_equal("a", "-1.5")),
        ("a<1", Predicate::less("a", "1")),
        ("a <=1", Predicate::less_or_equal("a", "1")),
        ("a> 1", Predicate::greater("a", "1")),
        ("a >= 1", Predicate::greater_or_equal("a", "1")),
        ("a between 1 AND 2", Predicate::between("a", "1", "2")),
        ("a IN (1, 'b,c',null)", Predicate::is_in("a", [text("1"), text("b,c"), null()])),
        ("a like 'x%'", Predicate::like("a", "x%")),
        ("a ILIKE x_", Predicate::ilike("a", "x_")),
        ("a REGEX '[a-c]+'", Predicate::regex("a", "[a-c]+")),
        ("a = NULL", Predicate::equal("a", null())),
        ("a IS NULL", Predicate::equal("a", null())),
        ("a is not null", Predicate::not_equal("a", null())),
        ("active", Predicate::equal("active", "true")),
        ("this.b[any].c > 1", Predicate::greater("b[any].c", "1")),
        ("__key#id = 1", Predicate::equal("__key#id", "1")),
        ("%age = 1", Predicate::equal("age", "1")),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).unwrap(), expected.unwrap(), "{text}");
    }
}

#[test]
fn and_binds_closer_than_or_and_not_closer_than_and() {
    let a = |name: &str| Predicate::equal(name, "true").unwrap();
    assert_eq!(
        parse("a OR NOT b AND c OR d").unwrap(),
        Predicate::Or(vec![a("a"), Predicate::And(vec![Predicate::not(a("b")), a("c")]), a("d")])
    );
    assert_eq!(
        parse("NOT (a OR b) and not not c").unwrap(),
        Predicate::And(vec![Predicate::not(Predicate::Or(vec![a("a"), a("b")])), a("c")])
    );
    assert_eq!(parse("((a))").unwrap(), a("a"));
    let not_in = Predicate::not(Predicate::is_in("a", ["1"]).unwrap());
    assert_eq!(parse("a NOT IN (1)").unwrap(), not_in);
    assert_eq!(
        parse("a BETWEEN 1 AND 2 AND b").unwrap(),
        Predicate::And(vec![Predicate::between("a", "1", "2").unwrap(), a("b")])
    );
}

#[test]
fn errors_say_where_and_what() {
    let cases = [
        ("", 0, "an attribute, NOT or `(`"),
        ("a =", 3, "a value"),
        ("a = 'x", 6, "the closing quote of a text"),
        ("a b", 2, "AND, OR or the end"),
        ("(a", 2, "`)`, AND or OR"),
        ("a)", 1, "AND, OR or the end"),
        ("a between 1 2", 12, "AND and the upper bound"),
        ("a in 1", 5, "`(` and values"),
        ("a in (1 2)", 8, "`,` or `)`"),
        ("a in ()", 6, "a value"),
        ("a not 1", 6, "BETWEEN, IN, LIKE, ILIKE or REGEX"),
        ("a is 1", 5, "NULL"),
        ("a ! b", 2, "`!=`"),
        ("a AND", 5, "an attribute, NOT or `(`"),
        ("AND a", 0, "an attribute, NOT or `(`"),
    ];
    for (text, at, what) in cases {
        match parse(text) {
            Err(QueryError::Syntax { position, expected, .. }) => {
                assert_eq!((position, expected), (at, what), "{text}")
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(matches!(parse("a.[ = 1"), Err(QueryError::BadPath { .. })));
    assert!(matches!(parse("a REGEX '('"), Err(QueryError::BadRegex { .. })));
}

#[test]
fn depth_and_size_are_bounded_and_chains_are_flat() {
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(128)).is_ok());
    assert_eq!(parse(&nested(129)), Err(QueryError::TooDeep { limit: 128 }));
    assert_eq!(parse(&"(".repeat(1_000_000)), Err(QueryError::TooDeep { limit: 128 }));
    assert!(parse(&format!("{}a", "NOT ".repeat(200_000))).is_ok());
    let chain = parse(&["a"; 200_000].join(" OR ")).unwrap();
    assert!(matches!(chain, Predicate::Or(all) if all.len() == 200_000));
    assert!(matches!(parse(&"a".repeat(MAX_TEXT + 1)), Err(QueryError::TooLarge { .. })));
}

/// Predicates that have a text.
fn printable() -> impl Strategy<Value = Predicate> {
    let attribute =
        prop_oneof![Just("a"), Just("b.c[0]"), Just("__key"), Just("this"), Just("and"), Just("sp ace")];
    let value = prop_oneof![Just(None), "[ -~äß']{0,6}".prop_map(Some)];
    let operand = value.prop_map(|value| Operand::new(value.map_or(Value::Null, Value::String)));
    let leaf = (attribute, operand.clone(), proptest::collection::vec(operand, 1..4), 0..11).prop_map(
        |(attribute, operand, operands, kind)| {
            let pattern = "x%_'";
            match kind {
                0 => Predicate::equal(attribute, operand),
                1 => Predicate::not_equal(attribute, operand),
                2 => Predicate::less(attribute, operand),
                3 => Predicate::less_or_equal(attribute, operand),
                4 => Predicate::greater(attribute, operand),
                5 => Predicate::greater_or_equal(attribute, operand),
                6 => Predicate::between(attribute, operand, operands[0].clone()),
                7 => Predicate::is_in(attribute, operands),
                8 => Predicate::like(attribute, pattern),
                9 => Predicate::ilike(attribute, pattern),
                _ => Predicate::regex(attribute, "[a']+"),
            }
            .unwrap()
        },
    );
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Predicate::and),
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Predicate::or),
            inner.prop_map(Predicate::not),
        ]
    })
}

proptest! {
    #[test]
    fn printing_is_the_way_back(predicate in printable()) {
        prop_assert_eq!(parse(&predicate.to_string()), Ok(predicate));
    }

    #[test]
    fn no_text_panics(text in "[ -~äß\n]{0,60}") {
        if let Ok(predicate) = parse(&text) {
            prop_assert_eq!(parse(&predicate.to_string()), Ok(predicate));
        }
    }

    #[test]
    fn no_sequence_of_tokens_panics(tokens in proptest::collection::vec(
        prop_oneof![Just("a"), Just("NOT"), Just("AND"), Just("OR"), Just("("), Just(")"), Just("="), Just("<>"), Just("IN"), Just(","),
            Just("BETWEEN"), Just("LIKE"), Just("'x'"), Just("1"), Just("null"), Just("IS")], 0..14)) {
        let _ = parse(&tokens.join(" "));
    }
}
