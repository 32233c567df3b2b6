//! SCRAM-SHA-256 (RFC 5802, RFC 7677): the client proves that it knows the password, and the door that it knows it too; neither says it.
//!
//! What a password becomes is computed once, when the door opens: four thousand rounds of hashing have no place on an io loop. A user who is
//! not known is asked the same questions, with a salt that stays the same, and refused at the end: nobody learns who exists.
//!
//! Channel binding (`SCRAM-SHA-256-PLUS`) is not offered; a client that would bind says so, and a client that must bind is refused.

use crate::hazelcast::User;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2, rand};
use std::collections::HashMap;
use std::num::NonZeroU32;
use subtle::ConstantTimeEq;

/// The mechanism that is offered.
pub(super) const MECHANISM: &str = "SCRAM-SHA-256";

/// Rounds of hashing, as PostgreSQL has by default.
const ROUNDS: NonZeroU32 = NonZeroU32::new(4_096).unwrap();

const SALT_BYTES: usize = 16;

/// What is kept of each password.
pub(super) struct Passwords {
    known: HashMap<String, Verifier>,
    /// Makes up salts for those who are not known.
    secret: hmac::Key,
    random: rand::SystemRandom,
}

/// What is kept of one password: enough to check a proof, not enough to make one.
#[derive(Clone)]
struct Verifier {
    salt: [u8; SALT_BYTES],
    stored_key: [u8; 32],
    server_key: [u8; 32],
}

/// A login that has begun.
pub(super) struct Exchange {
    verifier: Option<Verifier>,
    first_bare: String,
    header: String,
    nonce: String,
    /// What the client is told first.
    pub(super) challenge: String,
}

/// Why a login ends: for the log, the client learns less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused(pub(super) &'static str);

impl Passwords {
    /// Computes what is kept of the passwords; users without one are not let in here.
    pub(super) fn new(users: &[User]) -> Result<Self, Refused> {
        let random = rand::SystemRandom::new();
        let fresh = || {
            let mut bytes = [0; SALT_BYTES];
            let filled = rand::SecureRandom::fill(&random, &mut bytes);
            filled.map(|()| bytes).map_err(|_| Refused("the system has no random numbers"))
        };
        let mut known = HashMap::new();
        for user in users {
            if let Some(password) = &user.password {
                known.insert(user.name.clone(), Verifier::new(password.reveal(), fresh()?));
            }
        }
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &fresh()?);
        Ok(Self { known, secret, random })
    }

    /// Random bytes, for nonces and keys.
    pub(super) fn fill(&self, bytes: &mut [u8]) -> Result<(), Refused> {
        rand::SecureRandom::fill(&self.random, bytes).map_err(|_| Refused("the system has no random numbers"))
    }

    /// Answers a client's first message.
    pub(super) fn begin(&self, user: &str, first: &[u8]) -> Result<Exchange, Refused> {
        let broken = Refused("its first SCRAM message cannot be read");
        let first = std::str::from_utf8(first).map_err(|_| broken)?;
        let (binding, rest) = first.split_once(',').ok_or(broken)?;
        let (authorized, bare) = rest.split_once(',').ok_or(broken)?;
        if !matches!(binding, "n" | "y") {
            return Err(Refused("it wants to bind to the channel, which is not offered"));
        }
        if !authorized.is_empty() {
            return Err(Refused("it wants to log in for another user"));
        }
        // The name here is empty or ignored, as in PostgreSQL: who it is was said before.
        let mut parts = bare.split(',');
        let (Some(name), Some(nonce)) = (parts.next(), parts.next().and_then(|part| part.strip_prefix("r=")))
        else {
            return Err(broken);
        };
        let printable = |byte: u8| matches!(byte, 0x21..=0x7e) && byte != b',';
        if !name.starts_with("n=") || nonce.is_empty() || !nonce.bytes().all(printable) {
            return Err(broken);
        }
        let mut own = [0; 18];
        self.fill(&mut own)?;
        let nonce = format!("{nonce}{}", STANDARD.encode(own));
        let verifier = self.known.get(user).cloned();
        let salt = verifier.as_ref().map_or_else(|| self.made_up_salt(user), |verifier| verifier.salt);
        let challenge = format!("r={nonce},s={},i={ROUNDS}", STANDARD.encode(salt));
        Ok(Exchange {
            verifier,
            first_bare: bare.to_owned(),
            header: format!("{binding},{authorized},"),
            nonce,
            challenge,
        })
    }

    fn made_up_salt(&self, user: &str) -> [u8; SALT_BYTES] {
        let mut salt = [0; SALT_BYTES];
        salt.copy_from_slice(&hmac::sign(&self.secret, user.as_bytes()).as_ref()[..SALT_BYTES]);
        salt
    }
}

impl Verifier {
    fn new(password: &str, salt: [u8; SALT_BYTES]) -> Self {
        // A password that cannot be prepared is taken as it is, as PostgreSQL does.
        let prepared = stringprep::saslprep(password).unwrap_or(std::borrow::Cow::Borrowed(password));
        let mut salted = [0; 32];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, &salt, prepared.as_bytes(), &mut salted);
        let client_key = sign(&salted, b"Client Key");
        let mut stored_key = [0; 32];
        stored_key.copy_from_slice(digest::digest(&digest::SHA256, &client_key).as_ref());
        Self { salt, stored_key, server_key: sign(&salted, b"Server Key") }
    }
}

fn sign(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut signed = [0; 32];
    signed.copy_from_slice(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref());
    signed
}

impl Exchange {
    /// Checks the proof; what is returned proves to the client that the door knows the password as well.
    pub(super) fn finish(&self, last: &[u8]) -> Result<String, Refused> {
        let broken = Refused("its last SCRAM message cannot be read");
        let last = std::str::from_utf8(last).map_err(|_| broken)?;
        let (without_proof, proof) = last.rsplit_once(",p=").ok_or(broken)?;
        let mut parts = without_proof.split(',');
        let binding = parts.next().and_then(|part| part.strip_prefix("c=")).ok_or(broken)?;
        let nonce = parts.next().and_then(|part| part.strip_prefix("r=")).ok_or(broken)?;
        if STANDARD.decode(binding).ok().as_deref() != Some(self.header.as_bytes()) {
            return Err(Refused("it binds to another channel than it said"));
        }
        if nonce != self.nonce {
            return Err(Refused("it answers to another challenge"));
        }
        let proof: [u8; 32] =
            STANDARD.decode(proof).ok().and_then(|proof| proof.try_into().ok()).ok_or(broken)?;
        let Some(verifier) = &self.verifier else {
            return Err(Refused("there is no such user with a password"));
        };
        let said = format!("{},{},{without_proof}", self.first_bare, self.challenge);
        let signature = sign(&verifier.stored_key, said.as_bytes());
        let mut client_key = [0; 32];
        for (at, byte) in client_key.iter_mut().enumerate() {
            *byte = proof[at] ^ signature[at];
        }
        let computed = digest::digest(&digest::SHA256, &client_key);
        if !bool::from(computed.as_ref().ct_eq(&verifier.stored_key)) {
            return Err(Refused("its password is wrong"));
        }
        Ok(format!("v={}", STANDARD.encode(sign(&verifier.server_key, said.as_bytes()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677.
    #[test]
    fn the_example_of_the_standard_holds() {
        let salt: [u8; 16] = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap().try_into().unwrap();
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let exchange = Exchange {
            verifier: Some(Verifier::new("pencil", salt)),
            first_bare: "n=user,r=rOprNGfwEbeRWgbNEkqO".into(),
            header: "n,,".into(),
            nonce: nonce.into(),
            challenge: format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
        };
        let last = format!("c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert_eq!(
            exchange.finish(last.as_bytes()).unwrap(),
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
        );
        let wrong = format!("c=biws,r={nonce},p=eHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert_eq!(exchange.finish(wrong.as_bytes()), Err(Refused("its password is wrong")));
        let replayed = last.replace("hNlF$k0", "hNlF$k1");
        assert_eq!(exchange.finish(replayed.as_bytes()), Err(Refused("it answers to another challenge")));
    }

    #[test]
    fn who_is_not_known_is_asked_the_same() {
        let passwords = Passwords::new(&[]).unwrap();
        let (one, two) =
            (passwords.begin("x", b"n,,n=,r=abc").unwrap(), passwords.begin("x", b"n,,n=,r=abc").unwrap());
        let salt = |exchange: &Exchange| exchange.challenge.split(',').nth(1).unwrap().to_owned();
        assert_eq!(salt(&one), salt(&two));
        assert_ne!(one.nonce, two.nonce);
        assert_ne!(salt(&one), salt(&passwords.begin("y", b"n,,n=,r=abc").unwrap()));
        let last = format!("c=biws,r={},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", one.nonce);
        assert!(one.finish(last.as_bytes()).is_err());
    }

    #[test]
    fn broken_messages_are_refused() {
        let passwords = Passwords::new(&[]).unwrap();
        for first in [
            &b""[..],
            b"n",
            b"n,,",
            b"n,,n=",
            b"n,,n=,r=",
            b"p=tls-server-end-point,,n=,r=a",
            b"n,a=b,n=,r=a",
            b"\xff",
        ] {
            assert!(passwords.begin("x", first).is_err(), "{first:?}");
        }
        let exchange = passwords.begin("x", b"n,,n=,r=abc").unwrap();
        for last in [&b""[..], b"c=biws", b"c=biws,r=abc,p=", b",p=", b"\xff,p=\xff"] {
            assert!(exchange.finish(last).is_err(), "{last:?}");
        }
    }
}
