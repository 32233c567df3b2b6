//! User code at arm's length: whatever it does, no worker ends by it.
//!
//! A panic is caught where the code is called. What is easily forgotten are the two drops: of the panic's payload, and of
//! values that tasks own; both are user code too, and may panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs user code; a panic comes back as its text, and goes no further.
pub fn caught<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let message = message(&*payload);
        discard(payload);
        message
    })
}

/// Drops something of the user's.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // Its own drop might panic again, without end.
        std::mem::forget(payload);
    }
}

/// What a panic said, as text.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "(a panic without a text)".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("from a drop");
        }
    }

    #[test]
    fn nothing_gets_out() {
        assert_eq!(caught(|| 1), Ok(1));
        assert_eq!(caught(|| panic!("no {}", "luck")), Err::<(), _>("no luck".to_owned()));
        assert_eq!(
            caught(|| std::panic::panic_any(Bomb)),
            Err::<(), _>("(a panic without a text)".to_owned())
        );
        discard(Bomb);
    }
}
