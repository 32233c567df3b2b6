//! The 64-bit Rabin fingerprint that names a schema.
//!
//! Clients and members compute it independently and must agree, so the byte order is fixed: every number goes in as 32 bits,
//! little-endian, every text as its length and its UTF-8.

/// The polynomial, which is also the fingerprint of nothing.
const EMPTY: u64 = 0xc15d_213a_a4d7_a795;

const TABLE: [u64; 256] = table();

const fn table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < table.len() {
        let mut entry = index as u64;
        let mut bit = 0;
        while bit < 8 {
            entry = (entry >> 1) ^ (EMPTY & (entry & 1).wrapping_neg());
            bit += 1;
        }
        table[index] = entry;
        index += 1;
    }
    table
}

/// A fingerprint under way.
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    pub(super) const fn new() -> Self {
        Self(EMPTY)
    }

    pub(super) fn number(&mut self, number: i32) {
        self.bytes(&number.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as i32);
        self.bytes(text.as_bytes());
    }

    pub(super) const fn finish(self) -> i64 {
        self.0 as i64
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 >> 8) ^ TABLE[usize::from(self.0 as u8 ^ byte)];
        }
    }
}
