//! Writes raw logs as the runtime does.

use std::mem::{offset_of, size_of};
use unsnarl_trace::raw::{
    End, HEADER_BYTES, Header, MAGIC, MAX_MODULES, MAX_THREADS, Module, Record, RecordKind, Thread,
    VERSION,
};

/// A log in the making.
#[derive(Default)]
pub struct LogWriter {
    pub records: Vec<Record>,
    threads: Vec<[u64; 6]>,
    modules: Vec<(u64, u64, u64, String)>,
    fields: Vec<(usize, Vec<u8>)>,
}

const MODULES_AT: usize = HEADER_BYTES;
const THREADS_AT: usize = MODULES_AT + MAX_MODULES * size_of::<Module>();
const RECORDS_AT: usize = THREADS_AT + MAX_THREADS * size_of::<Thread>();

impl LogWriter {
    pub fn thread(&mut self, parent: u64, nth: u64, start: u64, stack: (u64, u64)) -> &mut Self {
        self.threads.push([parent, nth, start, 0, stack.0, stack.1]);
        self
    }

    pub fn module(&mut self, bias: u64, start: u64, end: u64, path: &str) -> &mut Self {
        self.modules.push((bias, start, end, path.to_owned()));
        self
    }

    pub fn record(&mut self, record: Record) -> &mut Self {
        self.records.push(record);
        self
    }

    pub fn push(
        &mut self,
        thread: u16,
        kind: RecordKind,
        pc: u64,
        addr: u64,
        value: u64,
    ) -> &mut Self {
        self.record(Record {
            kind: kind as u8,
            thread,
            pc,
            addr,
            value,
            ..Record::default()
        })
    }

    pub fn access(
        &mut self,
        thread: u16,
        kind: RecordKind,
        (pc, addr): (u64, u64),
        size: u32,
        value: u64,
    ) -> &mut Self {
        let flags = unsnarl_trace::raw::flag::VALUE;
        self.record(Record {
            kind: kind as u8,
            flags,
            thread,
            size,
            pc,
            addr,
            value,
        })
    }

    pub fn enter(&mut self, thread: u16, pc: u64, ret: u64, sp: u64, fp: u64) -> &mut Self {
        self.push(thread, RecordKind::Enter, pc, sp, fp);
        self.push(thread, RecordKind::Extra, pc, 0, ret)
    }

    pub fn end(&mut self, end: End) -> &mut Self {
        self.field(offset_of!(Header, end), &(end as u32).to_ne_bytes())
    }

    pub fn field(&mut self, at: usize, bytes: &[u8]) -> &mut Self {
        self.fields.push((at, bytes.to_vec()));
        self
    }

    pub fn message(&mut self, message: &str) -> &mut Self {
        self.field(offset_of!(Header, message), message.as_bytes());
        self.field(
            offset_of!(Header, message_len),
            &(message.len() as u32).to_ne_bytes(),
        )
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; RECORDS_AT + self.records.len() * size_of::<Record>()];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(offset_of!(Header, magic), &MAGIC.to_ne_bytes());
        put(offset_of!(Header, version), &VERSION.to_ne_bytes());
        for (at, value) in [
            (offset_of!(Header, modules_at), MODULES_AT),
            (offset_of!(Header, threads_at), THREADS_AT),
            (offset_of!(Header, decisions_at), RECORDS_AT),
            (offset_of!(Header, records_at), RECORDS_AT),
            (offset_of!(Header, records_cap), self.records.len()),
            (offset_of!(Header, records), self.records.len()),
        ] {
            put(at, &(value as u64).to_ne_bytes());
        }
        put(
            offset_of!(Header, threads),
            &(self.threads.len() as u32).to_ne_bytes(),
        );
        put(
            offset_of!(Header, modules),
            &(self.modules.len() as u32).to_ne_bytes(),
        );
        for (i, (bias, start, end, path)) in self.modules.iter().enumerate() {
            let row = MODULES_AT + i * size_of::<Module>();
            put(row + offset_of!(Module, bias), &bias.to_ne_bytes());
            put(row + offset_of!(Module, start), &start.to_ne_bytes());
            put(row + offset_of!(Module, end), &end.to_ne_bytes());
            put(row + offset_of!(Module, path), path.as_bytes());
        }
        for (i, thread) in self.threads.iter().enumerate() {
            let row = THREADS_AT + i * size_of::<Thread>();
            put(
                row + offset_of!(Thread, parent),
                &(thread[0] as u32).to_ne_bytes(),
            );
            put(
                row + offset_of!(Thread, nth),
                &(thread[1] as u32).to_ne_bytes(),
            );
            put(row + offset_of!(Thread, start_pc), &thread[2].to_ne_bytes());
            put(
                row + offset_of!(Thread, create_pc),
                &thread[3].to_ne_bytes(),
            );
            put(
                row + offset_of!(Thread, stack_low),
                &thread[4].to_ne_bytes(),
            );
            put(
                row + offset_of!(Thread, stack_high),
                &thread[5].to_ne_bytes(),
            );
        }
        for (i, record) in self.records.iter().enumerate() {
            let row = RECORDS_AT + i * size_of::<Record>();
            put(row + offset_of!(Record, kind), &[record.kind]);
            put(row + offset_of!(Record, flags), &[record.flags]);
            put(
                row + offset_of!(Record, thread),
                &record.thread.to_ne_bytes(),
            );
            put(row + offset_of!(Record, size), &record.size.to_ne_bytes());
            put(row + offset_of!(Record, pc), &record.pc.to_ne_bytes());
            put(row + offset_of!(Record, addr), &record.addr.to_ne_bytes());
            put(row + offset_of!(Record, value), &record.value.to_ne_bytes());
        }
        for (at, field) in &self.fields {
            put(*at, field);
        }
        bytes
    }
}
