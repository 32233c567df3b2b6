use super::*;
#[test]
fn smoke() {
    let pool = WorkStealing::standalone(2);
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
}
