//! Places, variables and types as the source has them.

use super::check;
use crate::program::condense;
use expect_test::expect;
use unsnarl_trace::program::{DebugKind, PlaceId};

const TEXT: &str = "\
@calls = internal global i32 0, align 4, !dbg !30
@text = private constant [9 x i8] c\"!dbg !30\\00\"
define i32 @_ZN4bank3addEi(i32 %0) !dbg !10 {
  %2 = alloca i32, align 4
    #dbg_declare(ptr %2, !20, !DIExpression(), !15)
  %3 = add i32 %0, 1, !dbg !15
    #dbg_value(i32 %3, !21, !DIExpression(DW_OP_LLVM_fragment, 32, 16), !15)
    #dbg_value(i32 %3, !21, !DIExpression(DW_OP_LLVM_fragment, 32, 16), !15)
    #dbg_value(i32 7, !21, !DIExpression(), !15)
    #dbg_value(!DIArgList(i32 %3, i32 %0), !21, !DIExpression(), !15)
    #dbg_value(i32 %3, !21, !DIExpression(DW_OP_plus_uconst, 1, DW_OP_stack_value), !15)
    #dbg_value(ptr %2, !21, !DIExpression(DW_OP_deref), !15)
    #dbg_declare(ptr %2, !21, !DIExpression(DW_OP_deref), !15)
    #dbg_assign(i1 undef, !20, !DIExpression(), !16, ptr %2, !DIExpression(), !15)
  ret i32 %3, !dbg !17
}
!llvm.dbg.cu = !{!1}
!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !2)
!2 = !DIFile(filename: \"src/../a.cpp\", directory: \"/home/me\")
!3 = !DINamespace(name: \"bank\", scope: null)
!10 = distinct !DISubprogram(name: \"add\", linkageName: \"_ZN4bank3addEi\", scope: !3, file: !2, line: 7, unit: !1)
!11 = distinct !DISubprogram(name: \"inner\", linkageName: \"_ZN4bank5innerEv\", scope: !3, file: !12, line: 2, unit: !1)
!12 = !DIFile(filename: \"/usr/include/b.h\", directory: \"\")
!13 = distinct !DILexicalBlock(scope: !11, file: !12, line: 3)
!15 = !DILocation(line: 9, column: 5, scope: !10)
!16 = distinct !DIAssignID()
!17 = !DILocation(line: 3, column: 1, scope: !13, inlinedAt: !15)
!20 = !DILocalVariable(name: \"amount\", arg: 1, scope: !10, file: !2, line: 7, type: !40)
!21 = !DILocalVariable(name: \"pair\", scope: !13, file: !2, line: 8, type: !42)
!30 = !DIGlobalVariableExpression(var: !31, expr: !DIExpression())
!31 = distinct !DIGlobalVariable(name: \"calls\", scope: !32, file: !2, line: 8, type: !40)
!32 = distinct !DILexicalBlock(scope: !10, file: !2, line: 8)
!40 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !41)
!41 = !DIBasicType(name: \"int\", size: 32, encoding: DW_ATE_signed)
!42 = distinct !DICompositeType(tag: DW_TAG_class_type, name: \"Pair\", size: 192, elements: !43)
!43 = !{!44, !45, !46, !47, !48, !49, !10, !60}
!44 = !DIDerivedType(tag: DW_TAG_inheritance, scope: !42, baseType: !50, extraData: i32 0)
!45 = !DIDerivedType(tag: DW_TAG_member, name: \"a\", scope: !42, baseType: !41, size: 3, offset: 64, flags: DIFlagBitField, extraData: i64 64)
!46 = !DIDerivedType(tag: DW_TAG_member, name: \"count\", scope: !42, baseType: !41, flags: DIFlagPublic | DIFlagStaticMember)
!47 = !DIDerivedType(tag: DW_TAG_member, name: \"_vptr$Pair\", scope: !42, baseType: !51, size: 64)
!48 = !DIDerivedType(tag: DW_TAG_member, scope: !42, baseType: !52, size: 32, offset: 96)
!49 = !DIDerivedType(tag: DW_TAG_inheritance, scope: !42, baseType: !50, offset: 24, flags: DIFlagPublic | DIFlagVirtual)
!50 = !DICompositeType(tag: DW_TAG_structure_type, name: \"Base\", flags: DIFlagFwdDecl, size: 64)
!51 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !42, size: 64)
!52 = distinct !DICompositeType(tag: DW_TAG_union_type, size: 32, elements: !53)
!53 = !{!54}
!54 = !DIDerivedType(tag: DW_TAG_member, name: \"kind\", baseType: !55, size: 32)
!55 = !DIDerivedType(tag: DW_TAG_typedef, name: \"kind_t\", baseType: !56)
!56 = !DICompositeType(tag: DW_TAG_enumeration_type, name: \"kind\", baseType: !41, size: 32, elements: !57)
!57 = !{!58, !59}
!58 = !DIEnumerator(name: \"NONE\", value: -1)
!59 = !DIEnumerator(name: \"SOME\", value: 18446744073709551615, isUnsigned: true)
!60 = !DIDerivedType(tag: DW_TAG_member, name: \"table\", baseType: !61, size: 64, offset: 128)
!61 = !DICompositeType(tag: DW_TAG_array_type, baseType: !62, size: 64, elements: !63)
!62 = !DIBasicType(name: \"char\", size: 8, encoding: DW_ATE_signed_char)
!63 = !{!64, !65}
!64 = !DISubrange(count: 2)
!65 = !DISubrange(count: 4, lowerBound: 0)
";

#[test]
fn variables_and_places() {
    check(
        TEXT,
        expect![[r#"
        unit src/../a.cpp in /home/me
        local global calls `bank::add::calls`: i32 (int) = 0:i32
        local constant global text: [9 x i8] = "!dbg !30\x00"
        function _ZN4bank3addEi `bank::add`(%0: i32): i32 ; bank::add:a.cpp:7:0
            parameter amount: int at %1
            variable pair: Pair bits 32+16 is %2
            variable pair: Pair at %1
            variable pair: Pair* at %1
          b0: ; 1
            #1 %1: ptr = alloca i32 of 4 bytes x 1:i32
            #2 %2: i32 = Add %0, 1:i32 ; bank::add:a.cpp:9:5
            #3 return %2 ; bank::inner:b.h:3:1 in bank::add:a.cpp:9:5
    "#]],
    );
    let unit = condense(TEXT).unwrap();
    let files: Vec<&str> = unit.files.iter().map(String::as_str).collect();
    assert_eq!(files, ["", "/home/me/a.cpp", "/usr/include/b.h"]);
    assert_eq!(
        (unit.source.as_str(), unit.directory.as_str()),
        ("src/../a.cpp", "/home/me")
    );
}

#[test]
fn types() {
    let unit = condense(TEXT).unwrap();
    let mut shown = String::new();
    for ty in &unit.debug_types {
        shown += &format!("{} of {} bytes: ", ty.name, ty.size);
        match &ty.kind {
            DebugKind::Struct(members) => {
                shown += "\n";
                for member in members {
                    let ty = unit.show_debug_type(member.ty);
                    shown += &format!(
                        "    {}..+{} {}: {ty}\n",
                        member.offset_bits, member.size_bits, member.name
                    );
                }
            }
            kind => shown += &format!("{kind:?}\n"),
        }
    }
    expect![[r#"
         of 0 bytes: Other
         of 4 bytes: Alias(DebugTypeId(5))
        Pair of 24 bytes: 
            0..+64 : Base
            64..+3 a: int
            0..+64 _vptr: Pair*
            96..+32 : struct of 1 members
            128..+64 table: char[2][4]
         of 8 bytes: Pointer(DebugTypeId(2))
        Base of 8 bytes: 
        int of 4 bytes: Signed
         of 8 bytes: Pointer(DebugTypeId(2))
         of 4 bytes: 
            0..+32 kind: kind_t
         of 8 bytes: Array(DebugTypeId(9), [2, 4])
        char of 1 bytes: Character
        kind_t of 4 bytes: Alias(DebugTypeId(11))
        kind of 4 bytes: Enum([Enumerator { name: "NONE", value: -1 }, Enumerator { name: "SOME", value: 18446744073709551615 }])
    "#]].assert_eq(&shown);
}

#[test]
fn loops_in_the_debug_info_end() {
    let unit = condense(
        "\
@a = global i32 0, !dbg !1
define void @f() !dbg !9 {
  ret void, !dbg !5
}
!1 = !DIGlobalVariableExpression(var: !2)
!2 = !DIGlobalVariable(name: \"a\", scope: !3, type: !4)
!3 = !DILexicalBlock(scope: !3)
!4 = !DIDerivedType(tag: DW_TAG_typedef, baseType: !4)
!5 = !DILocation(line: 1, scope: !6, inlinedAt: !5)
!6 = !DILexicalBlock(scope: !7)
!7 = !DILexicalBlock(scope: !6)
!9 = !DISubprogram(name: \"f\", declaration: !9, scope: !9)
",
    )
    .unwrap();
    let place = unit.place(unit.functions[0].instructions[0].place);
    assert_eq!((place.line, place.inlined_at), (1, PlaceId(0)));
    assert!(unit.to_string().contains("global a: i32"));
}
