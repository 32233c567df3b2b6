//! Text whose words are as unevenly frequent as those of a language: the n-th word comes n times less often than the first (Zipf).

use super::tally::mix;

/// How many different words there are.
const VOCABULARY: usize = 100_000;
const WORDS_PER_LINE: usize = 12;

/// Draws words.
struct Zipf {
    /// How much of all is drawn up to each word, as shares of 2^32.
    up_to: Vec<u64>,
}

impl Zipf {
    fn new(words: usize) -> Self {
        let whole: f64 = (1..=words).map(|rank| 1.0 / rank as f64).sum();
        let mut sum = 0.0;
        let share = |rank: usize| {
            sum += 1.0 / rank as f64;
            (sum / whole * f64::from(u32::MAX)) as u64
        };
        Self { up_to: (1..=words).map(share).collect() }
    }

    /// The word of a draw below 2^32.
    fn word(&self, draw: u64) -> usize {
        self.up_to.partition_point(|up_to| *up_to < draw).min(self.up_to.len() - 1)
    }
}

/// A word of 3 to 14 letters, the same for the same rank.
fn spelling(rank: usize) -> String {
    let mut bits = mix(rank as u64 + 1);
    // The rank in letters, so that no two are equal, and some more.
    let mut word = String::new();
    let mut rest = rank;
    loop {
        word.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
        if rest == 0 {
            break;
        }
    }
    word.push('q');
    for _ in 0..1 + bits % 10 {
        bits = mix(bits);
        // None of these ends the rank: two words with equal beginnings have equal ranks.
        word.push(char::from(b'a' + (bits % 16) as u8));
    }
    word
}

/// Lines of words, at least `bytes` in all.
pub(super) fn zipfian(bytes: usize) -> String {
    let zipf = Zipf::new(VOCABULARY.min(bytes / 16 + 10));
    let vocabulary: Vec<String> = (0..zipf.up_to.len()).map(spelling).collect();
    let mut text = String::with_capacity(bytes + 64);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    while text.len() < bytes {
        for place in 0..WORDS_PER_LINE {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text.push_str(&vocabulary[zipf.word(state >> 32)]);
            text.push(if place + 1 == WORDS_PER_LINE { '\n' } else { ' ' });
        }
    }
    text
}
