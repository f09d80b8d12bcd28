//! HMAC-SHA256 (RFC 2104).

use sha2::{Digest, Sha256};

/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;
/// Bytes of a key.
pub const KEY: usize = 32;

/// The authentication code of a message.
pub fn hmac(key: &[u8; KEY], message: &[u8]) -> [u8; 32] {
    let padded = |with: u8| -> Vec<u8> {
        let key = key.iter().copied().chain(std::iter::repeat(0));
        key.take(BLOCK).map(|byte| byte ^ with).collect()
    };
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(message)
        .finalize();
    Sha256::new()
        .chain_update(padded(0x5c))
        .chain_update(inner)
        .finalize()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test case 1 of RFC 4231, its key of 20 bytes filled up with zeros, which changes nothing.
    #[test]
    fn the_standards_own_example() {
        let mut key = [0; KEY];
        key.iter_mut().take(20).for_each(|byte| *byte = 0x0b);
        let code: String = hmac(&key, b"Hi There")
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            code,
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
    }
}
