//! Functions that panic, each in a way of its own: if one of them is not seen, no other panic would be.

#[inline(never)]
pub fn index(words: &[u64], at: usize) -> u64 {
    words[at]
}

#[inline(never)]
pub fn slice(words: &[u64], from: usize) -> &[u64] {
    &words[from..]
}

#[inline(never)]
pub fn division(dividend: u64, divisor: u64) -> u64 {
    dividend / divisor
}

/// # Panics
///
/// If there is no word.
#[inline(never)]
pub fn unwrap(word: Option<u64>) -> u64 {
    word.expect("a word")
}

/// # Panics
///
/// If the word is 0.
#[inline(never)]
pub fn panic(word: u64) {
    assert!(word != 0);
}

#[inline(never)]
pub fn allocation(len: usize) -> Vec<u64> {
    Vec::with_capacity(len)
}

#[inline(never)]
pub fn pointer(call: &dyn Fn() -> u64) -> u64 {
    call()
}

/// Hides a panic behind a call.
#[inline(never)]
pub fn behind_a_call(words: &[u64], at: usize) -> u64 {
    index(words, at).rotate_left(1)
}

/// Hides a panic behind a pointer to a function in a table.
#[inline(never)]
pub fn behind_a_pointer(words: &[u64], at: usize, choice: usize) -> u64 {
    static CALLS: [fn(&[u64], usize) -> u64; 2] = [index, behind_a_call];
    CALLS[choice & 1](words, at)
}

/// Does not panic.
#[inline(never)]
pub fn nothing(word: u64) -> u64 {
    word.wrapping_mul(3)
}
