//! Instructions.

use super::{check, check_code};
use crate::program::{CondenseError, condense};
use expect_test::expect;

/// A function with these instructions.
fn function(body: &str) -> String {
    format!("define void @f(i32 %a, i64 %b, ptr %p, double %d) {{\n{body}\n}}\n")
}

#[test]
fn arithmetic() {
    let body = function(
        "  %1 = add nuw nsw i32 %a, -1
  %2 = fdiv fast double %d, 1.500000e+00
  %3 = fneg double %2
  %4 = sext i32 %1 to i64
  %5 = zext nneg i32 %1 to i64
  %6 = icmp samesign ult i64 %4, %5
  %7 = fcmp nnan ogt double %3, 0x7FF8000000000000
  %8 = select i1 %6, i64 %4, i64 %5
  %9 = freeze i64 %8
  %10 = or disjoint i64 %9, 3",
    );
    check_code(
        &body,
        expect![[r#"
        #1 %4: i32 = Add %0, 4294967295:i32
        #2 %5: f64 = FDiv %3, 0x3ff8000000000000:f64
        #3 %6: f64 = negate %5
        #4 %7: i64 = SExt %4: i32
        #5 %8: i64 = ZExt %4: i32
        #6 %9: i1 = Ult %7, %8: i64
        #7 %10: i1 = FOgt %6, 0x7ff8000000000000:f64: f64
        #8 %11: i64 = %9 ? %7 : %8
        #9 %12: i64 = freeze %11
        #10 %13: i64 = Or %12, 3:i64
    "#]],
    );
}

#[test]
fn memory() {
    let body = function(
        "  %1 = alloca { i8, i64 }, align 8
  %2 = alloca i32, i64 %b, align 4
  %3 = load atomic volatile i32, ptr %p seq_cst, align 4
  store volatile i32 %3, ptr %2, align 4, !tbaa !5
  %4 = cmpxchg weak ptr %p, i32 1, i32 2 acq_rel monotonic, align 4
  %5 = extractvalue { i32, i1 } %4, 1
  %6 = atomicrmw volatile umax ptr %p, i64 7 syncscope(\"one\") monotonic, align 8
  fence acquire
  %7 = va_arg ptr %p, i32
  %8 = atomicrmw uinc_wrap ptr %p, i64 7 monotonic, align 8",
    );
    check_code(
        &body,
        expect![[r#"
        #1 %4: ptr = alloca {0: i8, 4: i64}12 of 12 bytes x 1:i32
        #2 %5: ptr = alloca i32 of 4 bytes x %1
        #3 %6: i32 = load atomic %2
        #4 store i32 %6 to %5
        #5 %7: {0: i32, 4: i1}8 = compare and exchange %2: 1:i32, 2:i32
        #6 %8: i1 = %7 at [1]
        #7 %9: i64 = atomic UMax %2, 7:i64
        #8 fence
        #9 %10: i32 = variable argument %2
        #10 %11: opaque = unknown: %8 = atomicrmw uinc_wrap ptr %p, i64 7 monotonic, align 8
        problem: `%8 = atomicrmw uinc_wrap ptr %p, i64 7 monotonic, align 8` in `f`: `atomicrmw uinc_wrap` is not understood
    "#]],
    );
}

#[test]
fn addresses() {
    let types = "%s = type { i8, [4 x %t], i16 }\n%t = type <{ i8, i32 }>\n";
    let body = function(
        "  %1 = getelementptr inbounds %s, ptr %p, i64 %b, i32 1, i32 %a, i32 1
  %2 = getelementptr i8, ptr %p, i64 -1
  %3 = getelementptr inbounds nuw %s, ptr @g, i64 1, i32 2
  %4 = getelementptr inbounds [0 x %t], ptr %p, i64 0, i64 %b
  %5 = getelementptr i32, <2 x ptr> zeroinitializer, i64 1",
    );
    check_code(
        &format!("{types}@g = global %s zeroinitializer\n{body}"),
        expect![[r#"
            #1 %4: ptr = %2 +2 + %1 * 24 + %0 * 5
            #2 %5: ptr = %2 -1
            #3 %6: ptr = @g +46
            #4 %7: ptr = %2 +0 + %1 * 5
            #5 %8: opaque = unknown: %5 = getelementptr i32, <2 x ptr> zeroinitializer, i64 1
            problem: `%5 = getelementptr i32, <2 x ptr> zeroinitializer, i64 1` in `f`: a vector of addresses is not understood
        "#]],
    );
}

#[test]
fn jumps() {
    let text = "\
define i32 @f(i32 %0, ptr %1) {
  switch i32 %0, label %7 [
    i32 1, label %3
    i32 -2, label %\"a b\"
  ], !dbg !3

3:                                                ; preds = %2, %\"a b\"
  %4 = phi i32 [ 5, %2 ], [ %5, %\"a b\" ], !dbg !4
  indirectbr ptr %1, [label %3, label %\"a b\"]

\"a b\":
  %5 = add i32 %0, 1
  %6 = icmp eq i32 %5, 0
  br i1 %6, label %3, label %7, !prof !7

7:
  ret i32 %0
}
define void @g() {
entry:
  br label %end
end:
  unreachable
}
";
    check(
        text,
        expect![[r#"
        unit a.c in 
        function f(%0: i32, %1: ptr): i32
          b0: ; 2
            #1 switch %0 1: b1 4294967294: b2 else b3
          b1: ; 3
            #2 %2: i32 = phi b0: 5:i32 b2: %3
            #3 jump to %1 b1 b2
          b2: ; a b
            #4 %3: i32 = Add %0, 1:i32
            #5 %4: i1 = Eq %3, 0:i32: i32
            #6 branch %4 b1, b3
          b3: ; 7
            #7 return %0
        function g(): void
          b0: ; entry
            #8 jump b1
          b1: ; end
            #9 unreachable
    "#]],
    );
}

#[test]
fn calls() {
    let text = "\
%s = type { i64, i64, i64 }
declare i32 @printf(ptr noundef, ...) #1
declare void @by_value(ptr noundef byval(%s) align 8, ptr sret(%s))
declare i32 @__gxx_personality_v0(...)
define i32 @f(ptr noundef byval(%s) align 8 %0, ptr %callee, i1 noundef zeroext %flag) personality ptr @__gxx_personality_v0 {
  %2 = tail call noundef range(i32 0, 2) i32 (ptr, ...) @printf(ptr noundef nonnull align 1 dereferenceable(4) @.str, i64 noundef 5) #5, !dbg !3
  call void @by_value(ptr noundef nonnull byval(%s) align 8 %0, ptr null)
  %3 = call fastcc addrspace(0) i32 %callee(i32 captures(none) \"a\"=\"b\" 7) [ \"deopt\"(i32 1, ptr %0) ]
  call void asm sideeffect \"xchg $0, $1\\0A\", \"=*m,r,~{memory}\"(ptr elementtype(i32) %0, i32 %3) #6, !srcloc !4
  call void @llvm.dbg.value(metadata i32 %3, metadata !5, metadata !DIExpression()), !dbg !6
  %4 = invoke noundef i32 @\"odd name\"(i32 1)
          to label %5 unwind label %6, !dbg !3

5:
  ret i32 %4

6:
  %7 = landingpad { ptr, i32 }
          cleanup
          catch ptr @type
          filter [1 x ptr] [ptr @type]
          catch ptr null
  %8 = extractvalue { ptr, i32 } %7, 0
  %9 = insertvalue { ptr, i32 } poison, ptr %8, 0
  resume { ptr, i32 } %9
}
@.str = private unnamed_addr constant [4 x i8] c\"%d\\0A\\00\", align 1
@type = external constant ptr
declare void @llvm.dbg.value(metadata, metadata, metadata)
declare i32 @\"odd name\"(i32)
";
    check(
        text,
        expect![[r#"
        unit a.c in 
        local constant global .str: [4 x i8] = "%d\n\x00"
        constant global type: ptr
        function printf(%0: ptr, ...): i32
        function by_value(%0: ptr by value of 24 bytes, %1: ptr): void
        function f(%0: ptr by value of 24 bytes, %1: ptr, %2: i1): i32
          b0: ; 1
            #1 %3: i32 = call printf(@.str, 5:i64)
            #2 call by_value(%0, null)
            #3 %4: i32 = call %1(7:i32)
            #4 assembly "xchg $0, $1\n"(%0, %4)
            #5 call llvm.dbg.value(undefined, undefined, undefined)
            #6 %5: i32 = call odd name(1:i32) then b1 or b2
          b1: ; 5
            #7 return %5
          b2: ; 6
            #8 %6: {0: ptr, 8: i32}16 = landing pad: cleanup, catches @type, null
            #9 %7: ptr = %6 at [0]
            #10 %8: {0: ptr, 8: i32}16 = undefined with %7 at [0]
            #11 resume %8
        function llvm.dbg.value(%0: opaque, %1: opaque, %2: opaque): void
        function odd name(%0: i32): i32
    "#]],
    );
}

#[test]
fn vectors() {
    let body = function(
        "  %1 = insertelement <4 x i32> poison, i32 %a, i64 0
  %2 = shufflevector <4 x i32> %1, <4 x i32> poison, <4 x i32> zeroinitializer
  %3 = shufflevector <4 x i32> %1, <4 x i32> %2, <2 x i32> <i32 7, i32 poison>
  %4 = extractelement <4 x i32> %2, i32 3
  %5 = icmp eq <4 x i32> %1, splat (i32 5)
  %6 = add <vscale x 2 x i32> zeroinitializer, zeroinitializer",
    );
    check_code(
        &body,
        expect![[r#"
        #1 %4: <4 x i32> = undefined[0:i64] = %0
        #2 %5: <4 x i32> = shuffle %4, undefined by [Some(0), Some(0), Some(0), Some(0)]
        #3 %6: <2 x i32> = shuffle %4, %5 by [Some(7), None]
        #4 %7: i32 = %5[3:i32]
        #5 %8: <4 x i1> = Eq %4, {5:i32, 5:i32, 5:i32, 5:i32}: <4 x i32>
        #6 %9: opaque = unknown: %6 = add <vscale x 2 x i32> zeroinitializer, zeroinitializer
        problem: `%6 = add <vscale x 2 x i32> zeroinitializer, zeroinitializer` in `f`: a vector without a fixed length is not understood
    "#]],
    );
}

#[test]
fn what_is_not_known_is_told_once_for_each_reason() {
    let body = function(
        "  %1 = strange i32 %a
  %2 = strange i32 %1
  %3 = add i32 %missing, 1
  callbr void asm \"\", \"!i\"() to label %4 [label %5]
  %6 = add i32 %2, %3",
    );
    check_code(
        &body,
        expect![[r##"
        #1 %4: opaque = unknown: %1 = strange i32 %a
        #2 %5: opaque = unknown: %2 = strange i32 %1
        #3 %6: opaque = unknown: %3 = add i32 %missing, 1
        #4 unknown: callbr void asm "", "!i"() to label %4 [label %5]
        #5 %7: i32 = Add %5, %6
        problem: `%1 = strange i32 %a` in `f`: `strange` is not understood (2 times)
        problem: `%3 = add i32 %missing, 1` in `f`: a value is not defined
        problem: `callbr void asm "", "!i"() to label %4 [label %5]` in `f`: `callbr` is not understood
    "##]],
    );
}

#[test]
fn old_compilers_and_other_texts_are_told() {
    let old = "define void @f(i32* %0) {\n  ret void\n}\n";
    assert_eq!(condense(old), Err(CondenseError::OldCompiler));
    for other in ["", "int main(void) { return 0; }\n", "\u{0}\u{1}é"] {
        assert_eq!(condense(other), Err(CondenseError::OtherText));
    }
}
