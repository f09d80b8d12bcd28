//! Types, constants, globals, aliases.

use super::check;
use expect_test::expect;

#[test]
fn constants() {
    check(
        "\
%s = type { i8, i32, [2 x %t] }
%t = type { i64, ptr }
%\"class.a b\" = type opaque
@a = internal global %s { i8 -1, i32 7, [2 x %t] [%t zeroinitializer, %t { i64 2, ptr @b }] }, align 8
@b = dso_local thread_local(localexec) local_unnamed_addr constant [3 x i8] c\"a\\22\\00\", section \"x\", comdat, align 1
@c = external global %\"class.a b\", align 8
@d = linkonce_odr hidden constant { [3 x ptr] } { [3 x ptr] [ptr null, ptr getelementptr inbounds ({ [3 x ptr] }, ptr @d, i32 0, i32 0, i32 2), ptr @f] }, comdat, align 8
@e = global ptr getelementptr inbounds inrange(-16, 8) (i8, ptr getelementptr inbounds (%s, ptr @a, i64 1, i32 2, i64 1, i32 1), i64 -8)
@g = global i64 sub (i64 ptrtoint (ptr @a to i64), i64 ptrtoint (ptr @b to i64))
@h = global <{ float, double, x86_fp80, i1, <2 x i16> }> <{ float 0x3FB99999A0000000, double 2.500000e+00, x86_fp80 0xK3FFF8000000000000000, i1 true, <2 x i16> <i16 1, i16 -1> }>
@i = global i128 -170141183460469231731687303715884105728
@j = global i200 5
@k = global [2 x ptr] [ptr blockaddress(@f, %two), ptr dso_local_equivalent @f]
@other = dso_local alias void (ptr), ptr @f
@behind = alias i8, getelementptr (i8, ptr @a, i64 8)
@loop = alias i8, ptr @loop
@chosen = ifunc void (), ptr @resolver
@\"\\01raw\" = external global i32
@l = global ptr @other
@m = global ptr @nowhere
define void @f() {
  br label %two
two:
  ret void
}
define ptr @resolver() {
  ret ptr @chosen
}
",
        expect![[r#"
            unit a.c in 
            local global a: {0: i8, 4: i32, 8: [2 x {0: ..., 8: ...}16]}40 = {255:i8, 7:i32, {zero:{0: i64, 8: ptr}16, {..., ...}}}
            thread-local constant global b: [3 x i8] = "a\"\x00"
            global c: opaque
            constant global d: {0: [3 x ptr]}24 = {{null, ...+16, f}}
            global e: ptr = @a+64
            global g: i64 = Sub(PtrToInt(@a):i64, PtrToInt(@b):i64)
            global h: {0: f32, 4: f64, 12: f80, 28: i1, 29: <2 x i16>}33 = {0x3dcccccd:f32, 0x4004000000000000:f64, 0x3fff8000000000000000:f80, 1:i1, {1:i16, 65535:i16}}
            global i: i128 = 170141183460469231731687303715884105728:i128
            global j: i200 = unknown
            global k: [2 x ptr] = {f:b1, f}
            global raw: i32
            global l: ptr = f
            global m: ptr
            alias other = f
            alias behind = @a+8
            function chosen(): void
            function f(): void
              b0: ; 0
                #1 jump b1
              b1: ; two
                #2 return
            function resolver(): ptr
              b0: ; 0
                #3 return chosen
            problem: variable `m`: a name is not defined
            problem: alias `loop`: a name stands for itself
        "#]],
    );
}

#[test]
fn types_that_make_no_sense_are_told() {
    check(
        "\
%loop = type { %loop, i32 }
@a = global %loop zeroinitializer
@b = global [99999999999 x [99999999999 x i64]] zeroinitializer
@c = global { i32, zeroinitializer
@d = global nothing
",
        expect![[r#"
            unit a.c in 
            global a: opaque
            global b: opaque
            global c: opaque
            global d: opaque
            problem: variable `a`: a type contains itself
            problem: variable `b`: an array is too big
            problem: variable `c`: a type was expected (2 times)
        "#]],
    );
}

#[test]
fn other_machines_are_told() {
    check(
        "target datalayout = \"E-p:32:32\"\n",
        expect![[r#"
        unit a.c in 
        problem: data layout: addresses of 64 bits with the lowest byte first are expected
    "#]],
    );
}
