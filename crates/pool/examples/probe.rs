use std::time::{Duration, Instant};
fn cpu() -> u32 {
    let mut aux = 0;
    unsafe { std::arch::x86_64::__rdtscp(&mut aux) };
    aux & 0xfff
}
fn main() {
    let pool = filbert_pool::WorkStealing::standalone(2);
    let spin = |us: u64| {
        let t = Instant::now();
        while t.elapsed() < Duration::from_micros(us) {
            std::hint::spin_loop();
        }
    };
    for _ in 0..12 {
        std::thread::sleep(Duration::from_millis(3));
        let t0 = Instant::now();
        let c0 = cpu();
        let main = std::thread::current().id();
        let (a, b) = pool.join(
            || {
                let x = (t0.elapsed().as_micros(), cpu());
                spin(300);
                x
            },
            || {
                let l = t0.elapsed().as_micros();
                let c = cpu();
                let other = std::thread::current().id() != main;
                spin(300);
                (l, c, other)
            },
        );
        println!(
            "main on {c0}; a starts {} us on {}; b starts {} on {} other {}; total {}",
            a.0,
            a.1,
            b.0,
            b.1,
            b.2,
            t0.elapsed().as_micros()
        );
    }
}
