//! Functions of the C++ library that keep the nodes of `std::map`, `std::set` and `std::list` linked.
//!
//! The containers are templates, which are compiled with the program and record by themselves what they look at; only
//! these functions lie in the library. They are done here, so that their reads and writes can be logged as they
//! happen. A list is a ring in libstdc++.

use crate::{
    entry::entry,
    memory::{on_behalf, reads, ready, writes},
    real::real,
    state::Thread,
    tree::{Node, RED, Side, Tree, Words},
};
use core::{mem::size_of, ptr::null_mut};

/// A node of a ring.
#[repr(C)]
struct Ring {
    next: *mut Ring,
    previous: *mut Ring,
}

/// Reads and writes the words of nodes, and logs that.
#[derive(Clone, Copy)]
struct Logged<'a> {
    this: Option<&'a Thread>,
    pc: u64,
}

impl Words for Logged<'_> {
    unsafe fn get<T: Copy>(self, from: *const T) -> T {
        // SAFETY: the caller's.
        unsafe {
            reads(self.this, from.cast(), size_of::<T>(), self.pc);
            from.read_volatile()
        }
    }

    unsafe fn set<T: Copy>(self, to: *mut T, value: T) {
        writes(self.this, to.cast(), size_of::<T>(), self.pc);
        // SAFETY: the caller's.
        unsafe { to.write_volatile(value) };
    }
}

unsafe extern "C" fn on_insert(
    is_left: bool,
    node: *mut Node,
    parent: *mut Node,
    header: *mut Node,
    pc: u64,
) {
    let Some(this) = ready(true, pc) else {
        let library = real!(
            "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
            fn(bool, *mut Node, *mut Node, *mut Node) -> ()
        );
        // SAFETY: the program's own call.
        return unsafe { library(is_left, node, parent, header) };
    };
    let words = Logged {
        this: Some(this),
        pc,
    };
    let side = if is_left { Side::Left } else { Side::Right };
    // SAFETY: the program's own call.
    on_behalf(Some(this), pc, || unsafe {
        Tree { header, words }.insert(node, parent, side);
    });
}

unsafe extern "C" fn on_erase(node: *mut Node, header: *mut Node, pc: u64) -> *mut Node {
    let Some(this) = ready(true, pc) else {
        let library = real!(
            "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
            fn(*mut Node, *mut Node) -> *mut Node
        );
        // SAFETY: the program's own call.
        return unsafe { library(node, header) };
    };
    let words = Logged {
        this: Some(this),
        pc,
    };
    // SAFETY: the program's own call.
    on_behalf(Some(this), pc, || unsafe {
        Tree { header, words }.erase(node);
    });
    node
}

/// A step of an iterator. The end stands still in an empty tree, and before it is the last node.
unsafe fn step(node: *mut Node, side: Side, pc: u64) -> *mut Node {
    let this = ready(false, pc);
    let words = Logged { this, pc };
    let tree = Tree {
        header: null_mut(),
        words,
    };
    // SAFETY: the program's own call.
    on_behalf(this, pc, || unsafe {
        let is_end =
            side == Side::Left && tree.color(node) == RED && tree.parent(tree.parent(node)) == node;
        match is_end {
            true => tree.child(node, Side::Right),
            false => tree.next(node, side),
        }
    })
}

unsafe extern "C" fn on_increment(node: *mut Node, pc: u64) -> *mut Node {
    // SAFETY: the program's own call.
    unsafe { step(node, Side::Right, pc) }
}

unsafe extern "C" fn on_decrement(node: *mut Node, pc: u64) -> *mut Node {
    // SAFETY: the program's own call.
    unsafe { step(node, Side::Left, pc) }
}

/// Links a node into a ring before another one.
unsafe extern "C" fn on_hook(node: *mut Ring, position: *mut Ring, pc: u64) {
    let this = ready(true, pc);
    let words = Logged { this, pc };
    // SAFETY: the program's own call.
    on_behalf(this, pc, || unsafe {
        let before = words.get(&raw const (*position).previous);
        words.set(&raw mut (*node).next, position);
        words.set(&raw mut (*node).previous, before);
        words.set(&raw mut (*before).next, node);
        words.set(&raw mut (*position).previous, node);
    });
}

/// Takes a node out of its ring.
unsafe extern "C" fn on_unhook(node: *mut Ring, pc: u64) {
    let this = ready(true, pc);
    let words = Logged { this, pc };
    // SAFETY: the program's own call.
    on_behalf(this, pc, || unsafe {
        let next = words.get(&raw const (*node).next);
        let before = words.get(&raw const (*node).previous);
        words.set(&raw mut (*before).next, next);
        words.set(&raw mut (*next).previous, before);
    });
}

/// Moves the nodes from `first` up to the one before `last` into the ring of `position`, before it.
unsafe extern "C" fn on_transfer(position: *mut Ring, first: *mut Ring, last: *mut Ring, pc: u64) {
    if position == last {
        return;
    }
    let this = ready(true, pc);
    let words = Logged { this, pc };
    // SAFETY: the program's own call.
    on_behalf(this, pc, || unsafe {
        let before_last = words.get(&raw const (*last).previous);
        let before_first = words.get(&raw const (*first).previous);
        let before = words.get(&raw const (*position).previous);
        words.set(&raw mut (*before_last).next, position);
        words.set(&raw mut (*before_first).next, last);
        words.set(&raw mut (*before).next, first);
        words.set(&raw mut (*position).previous, before_last);
        words.set(&raw mut (*last).previous, before_first);
        words.set(&raw mut (*first).previous, before);
    });
}

entry! {
    _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_, "r8" => on_insert;
    _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_, "rdx" => on_erase;
    _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base, "rsi" => on_increment;
    _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base, "rsi" => on_increment;
    _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base, "rsi" => on_decrement;
    _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base, "rsi" => on_decrement;
    _ZNSt8__detail15_List_node_base7_M_hookEPS0_, "rdx" => on_hook;
    _ZNSt8__detail15_List_node_base9_M_unhookEv, "rsi" => on_unhook;
    _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_, "rcx" => on_transfer;
}
