use filbert_pool::join;
fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}
fn fibp(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { std::hint::black_box(fibp(n - 1)) + std::hint::black_box(fibp(n - 2)) }
}
fn main() {
    let pool = filbert_pool::WorkStealing::standalone(1);
    for _ in 0..3 {
        let t = std::time::Instant::now();
        let r = pool.run(|| fib(std::hint::black_box(37)));
        let e = t.elapsed().as_nanos() as f64;
        let t = std::time::Instant::now();
        let p = fibp(std::hint::black_box(37));
        let ep = t.elapsed().as_nanos() as f64;
        println!("{r} {p} {:.2} ns per join, plain {:.2}", e / 39088168.0, ep / 39088168.0);
    }
}
