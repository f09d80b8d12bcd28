//! Compressed buffers of an Arrow IPC file.

use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use rustc_hash::FxHashMap;
use std::io::Write;

/// Length that stands before a buffer that is not compressed.
const STORED: i64 = -1;
/// Size of a buffer up to which a block of the smaller size holds it.
const SMALL: usize = 1 << 16;

/// Compresses buffers of at most 256 KB, each into a frame of one block.
pub(super) struct Lz4 {
    small: FrameEncoder<Vec<u8>>,
    large: FrameEncoder<Vec<u8>>,
    /// Compressed zeros by their number: most columns that say nothing hold them.
    zeros: FxHashMap<usize, Vec<u8>>,
}

impl Default for Lz4 {
    fn default() -> Lz4 {
        let of =
            |size| FrameEncoder::with_frame_info(FrameInfo::new().block_size(size), Vec::new());
        Lz4 {
            small: of(BlockSize::Max64KB),
            large: of(BlockSize::Max256KB),
            zeros: FxHashMap::default(),
        }
    }
}

impl Lz4 {
    /// Appends a buffer as Arrow has it: its length and a frame, or the buffer itself where that is shorter.
    pub fn append(&mut self, buffer: &[u8], to: &mut Vec<u8>) {
        if buffer.is_empty() {
            return;
        }
        if !is_zero(buffer) {
            return self.append_any(buffer, to);
        }
        match self.zeros.get(&buffer.len()) {
            Some(known) => to.extend_from_slice(known),
            None => {
                let start = to.len();
                self.append_any(buffer, to);
                let packed = to.get(start..).unwrap_or_default().to_vec();
                self.zeros.insert(buffer.len(), packed);
            }
        }
    }

    fn append_any(&mut self, buffer: &[u8], to: &mut Vec<u8>) {
        let encoder = match buffer.len() {
            0..=SMALL => &mut self.small,
            _ => &mut self.large,
        };
        encoder.get_mut().clear();
        let is_framed = encoder.write_all(buffer).is_ok() && encoder.try_finish().is_ok();
        let frame = encoder.get_ref();
        let length = buffer.len() as i64;
        let is_shorter = size_of_val(&length) + frame.len() <= buffer.len();
        let (length, bytes) = match is_framed && is_shorter {
            true => (length, frame.as_slice()),
            false => (STORED, buffer),
        };
        to.extend_from_slice(&length.to_le_bytes());
        to.extend_from_slice(bytes);
    }
}

/// Returns whether all bytes are zero, in pieces that the processor compares at once.
fn is_zero(bytes: &[u8]) -> bool {
    const PIECE: usize = 1024;
    let mut pieces = bytes.chunks(PIECE);
    pieces.all(|piece| piece.iter().fold(0, |any, byte| any | byte) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn framed(buffer: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(buffer).unwrap();
        encoder.finish().unwrap()
    }

    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 7u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005) + 1;
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(bytes).collect()
    }

    #[test]
    fn a_buffer_becomes_its_length_and_a_frame() {
        let mut lz4 = Lz4::default();
        for bytes in [300, 65_536, 131_072] {
            for value in [0, 1, 7] {
                let buffer: Vec<u8> = (0..bytes).map(|at| (at % 24 / 8 * value) as u8).collect();
                let mut packed = Vec::new();
                lz4.append(&buffer, &mut packed);
                let (length, frame) = packed.split_first_chunk().unwrap();
                assert_eq!(i64::from_le_bytes(*length), bytes as i64);
                assert!(frame == framed(&buffer));
                let mut again = Vec::new();
                lz4.append(&buffer, &mut again);
                assert!(packed == again);
                let mut unpacked = Vec::new();
                let mut decoder = lz4_flex::frame::FrameDecoder::new(frame);
                decoder.read_to_end(&mut unpacked).unwrap();
                assert!(unpacked == buffer);
            }
        }
    }

    #[test]
    fn what_would_not_get_shorter_is_stored() {
        let mut packed = Vec::new();
        let buffer = noise(4096);
        Lz4::default().append(&buffer, &mut packed);
        let (length, rest) = packed.split_first_chunk().unwrap();
        assert_eq!((i64::from_le_bytes(*length), rest), (STORED, &*buffer));
    }
}
