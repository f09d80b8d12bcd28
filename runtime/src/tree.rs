//! The trees of `std::map` and `std::set`, as libstdc++ keeps them: red-black trees below a header node, whose parent
//! is the root and whose children are the first and the last node.

use core::ptr::null_mut;

/// A node of a tree.
#[repr(C)]
pub struct Node {
    /// [`RED`] or [`BLACK`], in the first four bytes.
    color: usize,
    parent: *mut Node,
    left: *mut Node,
    right: *mut Node,
}

/// Color of new nodes. The library has an enumeration of four bytes there.
pub const RED: u32 = 0;
/// Color of the root.
pub const BLACK: u32 = 1;

/// Reads and writes the words of nodes.
pub trait Words: Copy {
    /// Reads.
    ///
    /// # Safety
    /// The word is there.
    unsafe fn get<T: Copy>(self, from: *const T) -> T;

    /// Writes.
    ///
    /// # Safety
    /// The word is there.
    unsafe fn set<T: Copy>(self, to: *mut T, value: T);
}

/// The side of its parent on which a node hangs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Before its parent.
    Left,
    /// Behind it.
    Right,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// A red-black tree. Every function has to be called for a well-formed tree, by a call that may change it.
#[derive(Clone, Copy)]
pub struct Tree<W> {
    /// The node above the root.
    pub header: *mut Node,
    /// Access to the words of nodes.
    pub words: W,
}

impl<W: Words> Tree<W> {
    /// The child on this side.
    ///
    /// # Safety
    /// See the type.
    pub unsafe fn child(self, node: *mut Node, side: Side) -> *mut Node {
        // SAFETY: see the type.
        unsafe {
            match side {
                Side::Left => self.words.get(&raw const (*node).left),
                Side::Right => self.words.get(&raw const (*node).right),
            }
        }
    }

    unsafe fn set_child(self, node: *mut Node, side: Side, child: *mut Node) {
        // SAFETY: see the type.
        unsafe {
            match side {
                Side::Left => self.words.set(&raw mut (*node).left, child),
                Side::Right => self.words.set(&raw mut (*node).right, child),
            }
        }
    }

    /// The parent of a node.
    ///
    /// # Safety
    /// See the type.
    pub unsafe fn parent(self, node: *mut Node) -> *mut Node {
        // SAFETY: see the type.
        unsafe { self.words.get(&raw const (*node).parent) }
    }

    unsafe fn set_parent(self, node: *mut Node, parent: *mut Node) {
        // SAFETY: see the type.
        unsafe { self.words.set(&raw mut (*node).parent, parent) };
    }

    /// The color of a node: [`RED`] or [`BLACK`].
    ///
    /// # Safety
    /// See the type.
    pub unsafe fn color(self, node: *mut Node) -> u32 {
        // SAFETY: see the type.
        unsafe { self.words.get((&raw const (*node).color).cast()) }
    }

    unsafe fn paint(self, node: *mut Node, color: u32) {
        // SAFETY: see the type.
        unsafe { self.words.set((&raw mut (*node).color).cast(), color) };
    }

    /// Returns whether the node is red; a missing node is black.
    unsafe fn is_red(self, node: *mut Node) -> bool {
        // SAFETY: see the type.
        !node.is_null() && unsafe { self.color(node) } == RED
    }

    unsafe fn root(self) -> *mut Node {
        // SAFETY: see the type.
        unsafe { self.parent(self.header) }
    }

    /// The outermost node below this one.
    unsafe fn outermost(self, mut node: *mut Node, side: Side) -> *mut Node {
        loop {
            // SAFETY: see the type.
            let next = unsafe { self.child(node, side) };
            if next.is_null() {
                return node;
            }
            node = next;
        }
    }

    /// Replaces the child `old` of `parent` by `new`.
    unsafe fn put(self, parent: *mut Node, old: *mut Node, new: *mut Node) {
        // SAFETY: see the type.
        unsafe {
            if parent == self.header {
                self.set_parent(parent, new);
            } else if self.child(parent, Side::Left) == old {
                self.set_child(parent, Side::Left, new);
            } else {
                self.set_child(parent, Side::Right, new);
            }
        }
    }

    /// Rotates a node down to this side; its other child takes its place.
    unsafe fn rotate(self, node: *mut Node, side: Side) {
        // SAFETY: see the type.
        unsafe {
            let up = self.child(node, side.other());
            let inner = self.child(up, side);
            self.set_child(node, side.other(), inner);
            if !inner.is_null() {
                self.set_parent(inner, node);
            }
            let parent = self.parent(node);
            self.set_parent(up, parent);
            self.put(parent, node, up);
            self.set_child(up, side, node);
            self.set_parent(node, up);
        }
    }

    /// Hangs a new node below `parent`, which is the header in an empty tree.
    ///
    /// # Safety
    /// See the type; there is no child on this side.
    pub unsafe fn insert(self, node: *mut Node, parent: *mut Node, side: Side) {
        // SAFETY: see the type.
        unsafe {
            self.set_parent(node, parent);
            self.set_child(node, Side::Left, null_mut());
            self.set_child(node, Side::Right, null_mut());
            self.paint(node, RED);
            self.set_child(parent, side, node);
            if parent == self.header {
                self.set_parent(parent, node);
                self.set_child(parent, side.other(), node);
            } else if self.child(self.header, side) == parent {
                self.set_child(self.header, side, node);
            }
            self.mend_inserted(node);
        }
    }

    /// Restores the invariant after an insertion: a red node may have a red parent.
    unsafe fn mend_inserted(self, mut node: *mut Node) {
        // SAFETY: see the type.
        unsafe {
            while node != self.root() && self.is_red(self.parent(node)) {
                let parent = self.parent(node);
                let above = self.parent(parent);
                let side = match self.child(above, Side::Left) == parent {
                    true => Side::Left,
                    false => Side::Right,
                };
                let uncle = self.child(above, side.other());
                if self.is_red(uncle) {
                    self.paint(parent, BLACK);
                    self.paint(uncle, BLACK);
                    self.paint(above, RED);
                    node = above;
                    continue;
                }
                if self.child(parent, side.other()) == node {
                    node = parent;
                    self.rotate(node, side);
                }
                self.paint(self.parent(node), BLACK);
                self.paint(above, RED);
                self.rotate(above, side.other());
            }
            self.paint(self.root(), BLACK);
        }
    }

    /// Removes a node.
    ///
    /// # Safety
    /// See the type; the node is in the tree.
    pub unsafe fn erase(self, node: *mut Node) {
        // SAFETY: see the type.
        unsafe {
            let (left, right) = (self.child(node, Side::Left), self.child(node, Side::Right));
            if left.is_null() || right.is_null() {
                let below = if left.is_null() { right } else { left };
                let parent = self.parent(node);
                if !below.is_null() {
                    self.set_parent(below, parent);
                }
                self.put(parent, node, below);
                self.move_ends(node, parent, below);
                if self.color(node) == BLACK {
                    self.mend_erased(below, parent);
                }
                return;
            }
            let next = self.outermost(right, Side::Left);
            let below = self.child(next, Side::Right);
            let hole = self.take_place(next, node);
            let (color, gone) = (self.color(node), self.color(next));
            self.paint(next, color);
            self.paint(node, gone);
            if gone == BLACK {
                self.mend_erased(below, hole);
            }
        }
    }

    /// Updates the header's first and last, when the removed node is one of them. It has one child at most.
    unsafe fn move_ends(self, node: *mut Node, parent: *mut Node, below: *mut Node) {
        for side in [Side::Left, Side::Right] {
            // SAFETY: see the type.
            unsafe {
                if self.child(self.header, side) == node {
                    let end = match below.is_null() {
                        true => parent,
                        false => self.outermost(below, side),
                    };
                    self.set_child(self.header, side, end);
                }
            }
        }
    }

    /// Moves the node behind `node`, the first of its right side, to its place. Returns the node below which one is
    /// missing now.
    unsafe fn take_place(self, next: *mut Node, node: *mut Node) -> *mut Node {
        // SAFETY: see the type.
        unsafe {
            let (left, right) = (self.child(node, Side::Left), self.child(node, Side::Right));
            self.set_parent(left, next);
            self.set_child(next, Side::Left, left);
            let mut hole = next;
            if next != right {
                hole = self.parent(next);
                let below = self.child(next, Side::Right);
                if !below.is_null() {
                    self.set_parent(below, hole);
                }
                self.set_child(hole, Side::Left, below);
                self.set_child(next, Side::Right, right);
                self.set_parent(right, next);
            }
            let parent = self.parent(node);
            self.put(parent, node, next);
            self.set_parent(next, parent);
            hole
        }
    }

    /// Restores the invariant after a removal: the paths through `node`, which need not exist, have one black node
    /// too few.
    unsafe fn mend_erased(self, mut node: *mut Node, mut parent: *mut Node) {
        // SAFETY: see the type.
        unsafe {
            while node != self.root() && !self.is_red(node) {
                let side = match self.child(parent, Side::Left) == node {
                    true => Side::Left,
                    false => Side::Right,
                };
                let mut sibling = self.child(parent, side.other());
                if self.is_red(sibling) {
                    self.paint(sibling, BLACK);
                    self.paint(parent, RED);
                    self.rotate(parent, side);
                    sibling = self.child(parent, side.other());
                }
                let near = self.child(sibling, side);
                if !self.is_red(near) && !self.is_red(self.child(sibling, side.other())) {
                    self.paint(sibling, RED);
                    node = parent;
                    parent = self.parent(node);
                    continue;
                }
                if !self.is_red(self.child(sibling, side.other())) {
                    self.paint(near, BLACK);
                    self.paint(sibling, RED);
                    self.rotate(sibling, side.other());
                    sibling = self.child(parent, side.other());
                }
                self.paint(sibling, self.color(parent));
                self.paint(parent, BLACK);
                let far = self.child(sibling, side.other());
                if !far.is_null() {
                    self.paint(far, BLACK);
                }
                self.rotate(parent, side);
                node = self.root();
            }
            if !node.is_null() {
                self.paint(node, BLACK);
            }
        }
    }

    /// The node behind this one, or before it: towards `side`. The header is what comes behind the last.
    ///
    /// # Safety
    /// See the type; there is such a node.
    pub unsafe fn next(self, mut node: *mut Node, side: Side) -> *mut Node {
        // SAFETY: see the type.
        unsafe {
            let below = self.child(node, side);
            if !below.is_null() {
                return self.outermost(below, side.other());
            }
            let mut above = self.parent(node);
            while node == self.child(above, side) {
                node = above;
                above = self.parent(above);
            }
            // Of a root that is the last node the header's child is the root again.
            match self.child(node, side) == above {
                true => node,
                false => above,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::{boxed::Box, vec::Vec};

    #[derive(Clone, Copy)]
    struct Plain;

    impl Words for Plain {
        unsafe fn get<T: Copy>(self, from: *const T) -> T {
            unsafe { from.read() }
        }

        unsafe fn set<T: Copy>(self, to: *mut T, value: T) {
            unsafe { to.write(value) };
        }
    }

    /// A set of numbers: the node of a number has it as its index.
    struct Set {
        // As in a program: nodes are reached by pointers only.
        nodes: *mut [Node],
        header: *mut Node,
    }

    impl Drop for Set {
        fn drop(&mut self) {
            // SAFETY: both were boxes.
            unsafe {
                drop(Box::from_raw(self.nodes));
                drop(Box::from_raw(self.header));
            }
        }
    }

    fn empty() -> Node {
        let none = null_mut();
        Node {
            color: RED as usize,
            parent: none,
            left: none,
            right: none,
        }
    }

    impl Set {
        fn new(most: usize) -> Set {
            let nodes: Box<[Node]> = (0..most).map(|_| empty()).collect();
            let header = Box::into_raw(Box::new(empty()));
            // SAFETY: it was just made.
            unsafe { ((*header).left, (*header).right) = (header, header) };
            Set {
                nodes: Box::into_raw(nodes),
                header,
            }
        }

        fn tree(&mut self) -> Tree<Plain> {
            Tree {
                header: self.header,
                words: Plain,
            }
        }

        fn node(&mut self, number: usize) -> *mut Node {
            assert!(number < self.nodes.len());
            // SAFETY: within the nodes.
            unsafe { self.nodes.cast::<Node>().add(number) }
        }

        fn number(&self, node: *const Node) -> usize {
            (node as usize - self.nodes.cast::<Node>() as usize) / size_of::<Node>()
        }

        fn insert(&mut self, number: usize) {
            let (tree, node) = (self.tree(), self.node(number));
            let (mut parent, mut side) = (tree.header, Side::Left);
            let mut next = unsafe { (*self.header).parent };
            while !next.is_null() {
                parent = next;
                side = match number < self.number(next) {
                    true => Side::Left,
                    false => Side::Right,
                };
                next = unsafe { tree.child(next, side) };
            }
            unsafe { tree.insert(node, parent, side) };
        }

        fn erase(&mut self, number: usize) {
            let (tree, node) = (self.tree(), self.node(number));
            unsafe { tree.erase(node) };
        }

        /// All numbers, by stepping over them from either end.
        fn numbers(&mut self, side: Side) -> Vec<usize> {
            let (tree, mut all) = (self.tree(), Vec::new());
            let (mut node, last) = match side {
                Side::Right => unsafe { ((*self.header).left, (*self.header).right) },
                Side::Left => unsafe { ((*self.header).right, (*self.header).left) },
            };
            while node != tree.header {
                all.push(self.number(node));
                if node == last {
                    break;
                }
                node = unsafe { tree.next(node, side) };
            }
            all
        }

        /// Counts the black nodes on each way down; checks that every red node has black children, and that every
        /// child knows its parent.
        fn blacks(&mut self, node: *mut Node, parent: *mut Node) -> usize {
            if node.is_null() {
                return 1;
            }
            let tree = self.tree();
            unsafe {
                assert!((*node).parent == parent);
                let is_red = tree.is_red(node);
                assert!(!is_red || parent == tree.header || !tree.is_red(parent));
                let left = self.blacks((*node).left, node);
                assert_eq!(left, self.blacks((*node).right, node));
                left + usize::from(!is_red)
            }
        }
    }

    #[test]
    fn any_inserts_and_erases_leave_a_tree_in_order() {
        const MOST: usize = 200;
        // Miri takes a thousand times as long for each.
        const STEPS: usize = if cfg!(miri) { 200 } else { 20_000 };
        let (mut set, mut there) = (Set::new(MOST), std::collections::BTreeSet::new());
        let mut random = 1u64;
        for step in 0..STEPS {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // The tree grows and shrinks again and again.
            let number = (random >> 33) as usize % MOST;
            let grows = (random >> 20) % 8
                < if step % (STEPS / 10) < STEPS / 20 {
                    6
                } else {
                    2
                };
            if grows && there.insert(number) {
                set.insert(number);
            } else if !grows && there.remove(&number) {
                set.erase(number);
            } else {
                continue;
            }
            let (header, root) = (set.header, unsafe { (*set.header).parent });
            set.blacks(root, header);
            let expected: Vec<usize> = there.iter().copied().collect();
            assert_eq!(set.numbers(Side::Right), expected);
            assert!(
                set.numbers(Side::Left)
                    .into_iter()
                    .eq(expected.into_iter().rev())
            );
        }
        assert!(!there.is_empty());
    }

    #[test]
    fn behind_the_last_is_the_header() {
        let mut set = Set::new(3);
        for number in 0..3 {
            set.insert(number);
            let (tree, last) = (set.tree(), set.node(number));
            assert!(unsafe { tree.next(last, Side::Right) } == tree.header);
        }
    }
}
