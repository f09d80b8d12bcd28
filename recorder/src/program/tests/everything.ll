; ModuleID = 'every.cpp'
source_filename = "every.cpp"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%struct.P = type <{ i8, x86_fp80 }>
%struct.Base = type <{ ptr, i32, [4 x i8] }>
%struct.Derived = type { %struct.Base.base, i8, %union.anon, [4 x i8] }
%struct.Base.base = type <{ ptr, i32 }>
%union.anon = type { i32 }
%struct.Big = type { [8 x i64] }
%class.anon = type { i8 }

$_ZN7DerivedC2Ev = comdat any

$__clang_call_terminate = comdat any

$_ZN7DerivedD2Ev = comdat any

$_ZN7DerivedD0Ev = comdat any

$_ZN4BaseC2Ev = comdat any

$_ZTW2tl = comdat any

@_ZN7Derived5countE = dso_local global i32 3, align 4, !dbg !0
@_ZZN7Derived1fEvE5calls = internal global i32 0, align 4, !dbg !25
@tl = dso_local thread_local global i64 5, align 8, !dbg !60
@at = dso_local global i32 0, align 4, !dbg !62
@_ZZ4jumpiE3tab = internal global [2 x ptr] [ptr blockaddress(@_Z4jumpi, %9), ptr blockaddress(@_Z4jumpi, %11)], align 16, !dbg !64
@p = dso_local global %struct.P zeroinitializer, align 1, !dbg !73
@_ZTIi = external constant ptr
@.str = private unnamed_addr constant [6 x i8] c"%d %s\00", align 1, !dbg !80
@_ZTV4Base = dso_local unnamed_addr constant { [5 x ptr] } { [5 x ptr] [ptr null, ptr @_ZTI4Base, ptr @_ZN4BaseD1Ev, ptr @_ZN4BaseD0Ev, ptr @_ZN4Base1fEv] }, align 8
@_ZTVN10__cxxabiv117__class_type_infoE = external global [0 x ptr]
@_ZTS4Base = dso_local constant [6 x i8] c"4Base\00", align 1
@_ZTI4Base = dso_local constant { ptr, ptr } { ptr getelementptr inbounds (ptr, ptr @_ZTVN10__cxxabiv117__class_type_infoE, i64 2), ptr @_ZTS4Base }, align 8
@_ZTV7Derived = dso_local unnamed_addr constant { [5 x ptr] } { [5 x ptr] [ptr null, ptr @_ZTI7Derived, ptr @_ZN7DerivedD2Ev, ptr @_ZN7DerivedD0Ev, ptr @_ZN7Derived1fEv] }, align 8
@_ZTVN10__cxxabiv120__si_class_type_infoE = external global [0 x ptr]
@_ZTS7Derived = dso_local constant [9 x i8] c"7Derived\00", align 1
@_ZTI7Derived = dso_local constant { ptr, ptr, ptr } { ptr getelementptr inbounds (ptr, ptr @_ZTVN10__cxxabiv120__si_class_type_infoE, i64 2), ptr @_ZTS7Derived, ptr @_ZTI4Base }, align 8
@"_ZZZ4mainENK3$_0clEiE1z" = internal global i32 0, align 4, !dbg !86
@llvm.used = appending global [1 x ptr] [ptr @tsan.module_ctor], section "llvm.metadata"
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @tsan.module_ctor, ptr null }]

@_ZN4BaseD1Ev = dso_local unnamed_addr alias void (ptr), ptr @_ZN4BaseD2Ev

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define dso_local void @_ZN4BaseD2Ev(ptr noundef nonnull align 8 dereferenceable(12) %0) unnamed_addr #0 align 2 !dbg !108 {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
    #dbg_declare(ptr %2, !109, !DIExpression(), !111)
  %3 = load ptr, ptr %2, align 8
  ret void, !dbg !112
}

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define dso_local void @_ZN4BaseD0Ev(ptr noundef nonnull align 8 dereferenceable(12) %0) unnamed_addr #0 align 2 !dbg !113 {
  %2 = call ptr @llvm.returnaddress(i32 0), !dbg !114
  call void @__tsan_func_entry(ptr %2), !dbg !114
  %3 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
    #dbg_declare(ptr %3, !115, !DIExpression(), !114)
  %4 = load ptr, ptr %3, align 8
  call void @_ZN4BaseD1Ev(ptr noundef nonnull align 8 dereferenceable(12) %4) #13, !dbg !116
  call void @_ZdlPvm(ptr noundef %4, i64 noundef 16) #15, !dbg !116
  call void @__tsan_func_exit(), !dbg !117
  ret void, !dbg !117
}

; Function Attrs: nobuiltin nounwind
declare void @_ZdlPvm(ptr noundef, i64 noundef) #1

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define dso_local noundef i32 @_ZN4Base1fEv(ptr noundef nonnull align 8 dereferenceable(12) %0) unnamed_addr #0 align 2 !dbg !118 {
  %2 = call ptr @llvm.returnaddress(i32 0), !dbg !119
  call void @__tsan_func_entry(ptr %2), !dbg !119
  %3 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
    #dbg_declare(ptr %3, !120, !DIExpression(), !119)
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds %struct.Base, ptr %4, i32 0, i32 1, !dbg !121
  call void @__tsan_read4(ptr %5), !dbg !121
  %6 = load i32, ptr %5, align 8, !dbg !121
  call void @__tsan_func_exit(), !dbg !122
  ret i32 %6, !dbg !122
}

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define dso_local noundef i32 @_ZN7Derived1fEv(ptr noundef nonnull align 8 dereferenceable(20) %0) unnamed_addr #0 align 2 !dbg !27 {
  %2 = call ptr @llvm.returnaddress(i32 0), !dbg !123
  call void @__tsan_func_entry(ptr %2), !dbg !123
  %3 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
    #dbg_declare(ptr %3, !124, !DIExpression(), !123)
  %4 = load ptr, ptr %3, align 8
  %5 = load i32, ptr @_ZZN7Derived1fEvE5calls, align 4, !dbg !126
  %6 = add nsw i32 %5, 1, !dbg !126
  call void @__tsan_write4(ptr @_ZZN7Derived1fEvE5calls), !dbg !126
  store i32 %6, ptr @_ZZN7Derived1fEvE5calls, align 4, !dbg !126
  %7 = getelementptr inbounds %struct.Derived, ptr %4, i32 0, i32 1, !dbg !127
  %8 = load i8, ptr %7, align 4, !dbg !128
  %9 = and i8 %8, -8, !dbg !128
  %10 = or i8 %9, 2, !dbg !128
  call void @__tsan_write1(ptr %7), !dbg !128
  store i8 %10, ptr %7, align 4, !dbg !128
  call void @__tsan_read4(ptr @_ZZN7Derived1fEvE5calls), !dbg !129
  %11 = load i32, ptr @_ZZN7Derived1fEvE5calls, align 4, !dbg !129
  call void @__tsan_func_exit(), !dbg !130
  ret i32 %11, !dbg !130
}

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define dso_local noundef i32 @_Z4jumpi(i32 noundef %0) #0 !dbg !66 {
  %2 = call ptr @llvm.returnaddress(i32 0), !dbg !131
  call void @__tsan_func_entry(ptr %2), !dbg !131
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  store i32 %0, ptr %4, align 4
    #dbg_declare(ptr %4, !132, !DIExpression(), !133)
  %5 = load i32, ptr %4, align 4, !dbg !134
  %6 = sext i32 %5 to i64, !dbg !135
  %7 = getelementptr inbounds [2 x ptr], ptr @_ZZ4jumpiE3tab, i64 0, i64 %6, !dbg !135
  call void @__tsan_read8(ptr %7), !dbg !135
  %8 = load ptr, ptr %7, align 8, !dbg !135
  br label %14, !dbg !136

9:                                                ; preds = %14
    #dbg_label(!137, !138)
  %10 = load i32, ptr %4, align 4, !dbg !139
  store i32 %10, ptr %3, align 4, !dbg !140
  br label %12, !dbg !140

11:                                               ; preds = %14
    #dbg_label(!141, !142)
  store i32 7, ptr %3, align 4, !dbg !143
  br label %12, !dbg !143

12:                                               ; preds = %11, %9
  %13 = load i32, ptr %3, align 4, !dbg !144
  call void @__tsan_func_exit(), !dbg !144
  ret i32 %13, !dbg !144

14:                                               ; preds = %1
  %15 = phi ptr [ %8, %1 ]
  indirectbr ptr %15, [label %9, label %11]
}

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define dso_local noundef i32 @_Z6choosejd(i32 noundef %0, double noundef %1) #0 !dbg !145 {
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  %5 = alloca double, align 8
  store i32 %0, ptr %4, align 4
    #dbg_declare(ptr %4, !149, !DIExpression(), !150)
  store double %1, ptr %5, align 8
    #dbg_declare(ptr %5, !151, !DIExpression(), !152)
  %6 = load i32, ptr %4, align 4, !dbg !153
  switch i32 %6, label %11 [
    i32 1, label %7
    i32 2, label %10
  ], !dbg !154

7:                                                ; preds = %2
  %8 = load double, ptr %5, align 8, !dbg !155
  %9 = fptosi double %8 to i32, !dbg !155
  store i32 %9, ptr %3, align 4, !dbg !157
  br label %22, !dbg !157

10:                                               ; preds = %2
  store i32 7, ptr %3, align 4, !dbg !158
  br label %22, !dbg !158

11:                                               ; preds = %2
  %12 = load i32, ptr %4, align 4, !dbg !159
  %13 = icmp ugt i32 %12, 5, !dbg !160
  br i1 %13, label %14, label %17, !dbg !159

14:                                               ; preds = %11
  %15 = load i32, ptr %4, align 4, !dbg !161
  %16 = mul i32 %15, 3, !dbg !162
  br label %20, !dbg !159

17:                                               ; preds = %11
  %18 = load i32, ptr %4, align 4, !dbg !163
  %19 = udiv i32 %18, 2, !dbg !164
  br label %20, !dbg !159

20:                                               ; preds = %17, %14
  %21 = phi i32 [ %16, %14 ], [ %19, %17 ], !dbg !159
  store i32 %21, ptr %3, align 4, !dbg !165
  br label %22, !dbg !165

22:                                               ; preds = %20, %10, %7
  %23 = load i32, ptr %3, align 4, !dbg !166
  ret i32 %23, !dbg !166
}

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define dso_local noundef <4 x float> @_Z5lanesDv4_fS_(<4 x float> noundef %0, <4 x float> noundef %1) #2 !dbg !167 {
  %3 = alloca <4 x float>, align 16
  %4 = alloca <4 x float>, align 16
  %5 = alloca <4 x float>, align 16
  store <4 x float> %0, ptr %3, align 16
    #dbg_declare(ptr %3, !170, !DIExpression(), !171)
  store <4 x float> %1, ptr %4, align 16
    #dbg_declare(ptr %4, !172, !DIExpression(), !173)
    #dbg_declare(ptr %5, !174, !DIExpression(), !175)
  %6 = load <4 x float>, ptr %3, align 16, !dbg !176
  %7 = load <4 x float>, ptr %4, align 16, !dbg !177
  %8 = fmul <4 x float> %6, %7, !dbg !178
  store <4 x float> %8, ptr %5, align 16, !dbg !175
  %9 = load <4 x float>, ptr %3, align 16, !dbg !179
  %10 = extractelement <4 x float> %9, i32 1, !dbg !179
  %11 = load <4 x float>, ptr %5, align 16, !dbg !180
  %12 = insertelement <4 x float> %11, float %10, i32 2, !dbg !180
  store <4 x float> %12, ptr %5, align 16, !dbg !180
  %13 = load <4 x float>, ptr %5, align 16, !dbg !181
  %14 = load <4 x float>, ptr %4, align 16, !dbg !182
  %15 = shufflevector <4 x float> %13, <4 x float> %14, <4 x i32> <i32 0, i32 5, i32 2, i32 7>, !dbg !183
  ret <4 x float> %15, !dbg !184
}

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define dso_local void @_Z6copied3Big(ptr dead_on_unwind noalias writable sret(%struct.Big) align 8 %0, ptr noundef byval(%struct.Big) align 8 %1) #0 !dbg !185 {
    #dbg_declare(ptr %1, !188, !DIExpression(), !189)
  %3 = call ptr @llvm.returnaddress(i32 0), !dbg !190
  call void @__tsan_func_entry(ptr %3), !dbg !190
  %4 = getelementptr inbounds %struct.Big, ptr %1, i32 0, i32 0, !dbg !190
  %5 = getelementptr inbounds [8 x i64], ptr %4, i64 0, i64 0, !dbg !191
  %6 = load i64, ptr %5, align 8, !dbg !192
  %7 = add nsw i64 %6, 1, !dbg !192
  call void @__tsan_write8(ptr %5), !dbg !192
  store i64 %7, ptr %5, align 8, !dbg !192
  %8 = call ptr @__tsan_memcpy(ptr %0, ptr %1, i64 64), !dbg !193
  call void @__tsan_func_exit(), !dbg !194
  ret void, !dbg !194
}

; Function Attrs: mustprogress noinline norecurse optnone sanitize_thread uwtable
define dso_local noundef i32 @main(i32 noundef %0, ptr noundef %1) #4 personality ptr @__gxx_personality_v0 !dbg !90 {
  %3 = call ptr @llvm.returnaddress(i32 0), !dbg !195
  call void @__tsan_func_entry(ptr %3), !dbg !195
  %4 = alloca i32, align 4
  %5 = alloca i32, align 4
  %6 = alloca ptr, align 8
  %7 = alloca %struct.Derived, align 8
  %8 = alloca ptr, align 8
  %9 = alloca i32, align 4
  %10 = alloca ptr, align 8
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  %14 = alloca i128, align 16
  %15 = alloca %class.anon, align 1
  %16 = alloca ptr, align 8
  %17 = alloca i64, align 8
  %18 = alloca %struct.Big, align 8
  %19 = alloca %struct.Big, align 8
  %20 = alloca <4 x float>, align 16
  store i32 0, ptr %4, align 4
  store i32 %0, ptr %5, align 4
    #dbg_declare(ptr %5, !196, !DIExpression(), !197)
  store ptr %1, ptr %6, align 8
    #dbg_declare(ptr %6, !198, !DIExpression(), !199)
    #dbg_declare(ptr %7, !200, !DIExpression(), !201)
  call void @_ZN7DerivedC2Ev(ptr noundef nonnull align 8 dereferenceable(20) %7) #13, !dbg !201
    #dbg_declare(ptr %8, !202, !DIExpression(), !203)
  store ptr %7, ptr %8, align 8, !dbg !203
  %21 = load ptr, ptr %8, align 8, !dbg !204
  call void @__tsan_vptr_read(ptr %21), !dbg !206
  %22 = load ptr, ptr %21, align 8, !dbg !206, !tbaa !207
  %23 = getelementptr inbounds ptr, ptr %22, i64 2, !dbg !206
  %24 = load ptr, ptr %23, align 8, !dbg !206
  %25 = invoke noundef i32 %24(ptr noundef nonnull align 8 dereferenceable(12) %21)
          to label %26 unwind label %35, !dbg !206

26:                                               ; preds = %2
  store i32 %25, ptr %9, align 4, !dbg !210
  %27 = load i32, ptr %9, align 4, !dbg !210
  %28 = call i32 @__tsan_atomic32_fetch_add(ptr @at, i32 %27, i32 5), !dbg !210
  store i32 %28, ptr %12, align 4, !dbg !210
  %29 = load i32, ptr %12, align 4, !dbg !210
  %30 = load i32, ptr %5, align 4, !dbg !211
  %31 = icmp sgt i32 %30, 3, !dbg !213
  br i1 %31, label %32, label %96, !dbg !214

32:                                               ; preds = %26
  %33 = call ptr @__cxa_allocate_exception(i64 4) #13, !dbg !215
  %34 = load i32, ptr %5, align 4, !dbg !216
  call void @__tsan_write4(ptr %33), !dbg !215
  store i32 %34, ptr %33, align 16, !dbg !215
  invoke void @__cxa_throw(ptr %33, ptr @_ZTIi, ptr null) #16
          to label %119 unwind label %35, !dbg !215

35:                                               ; preds = %32, %2
  %36 = landingpad { ptr, i32 }
          catch ptr @_ZTIi
          catch ptr null, !dbg !217
  %37 = extractvalue { ptr, i32 } %36, 0, !dbg !217
  store ptr %37, ptr %10, align 8, !dbg !217
  %38 = extractvalue { ptr, i32 } %36, 1, !dbg !217
  store i32 %38, ptr %11, align 4, !dbg !217
  br label %39, !dbg !217

39:                                               ; preds = %35
  %40 = load i32, ptr %11, align 4, !dbg !218
  %41 = call i32 @llvm.eh.typeid.for.p0(ptr @_ZTIi) #13, !dbg !218
  %42 = icmp eq i32 %40, %41, !dbg !218
  br i1 %42, label %43, label %93, !dbg !218

43:                                               ; preds = %39
    #dbg_declare(ptr %13, !219, !DIExpression(), !220)
  %44 = load ptr, ptr %10, align 8, !dbg !221
  %45 = call ptr @__cxa_begin_catch(ptr %44) #13, !dbg !221
  call void @__tsan_read4(ptr %45), !dbg !221
  %46 = load i32, ptr %45, align 4, !dbg !221
  store i32 %46, ptr %13, align 4, !dbg !221
  %47 = load i32, ptr %13, align 4, !dbg !223
  %48 = load ptr, ptr %6, align 8, !dbg !225
  %49 = getelementptr inbounds ptr, ptr %48, i64 0, !dbg !225
  call void @__tsan_read8(ptr %49), !dbg !225
  %50 = load ptr, ptr %49, align 8, !dbg !225
  %51 = invoke i32 (ptr, ...) @printf(ptr noundef @.str, i32 noundef %47, ptr noundef %50)
          to label %52 unwind label %102, !dbg !226

52:                                               ; preds = %43
  call void @__cxa_end_catch() #13, !dbg !227
  br label %53, !dbg !227

53:                                               ; preds = %52, %96
  call void asm sideeffect "nop", "~{memory},~{dirflag},~{fpsr},~{flags}"() #13, !dbg !228, !srcloc !229
    #dbg_declare(ptr %14, !230, !DIExpression(), !232)
  %54 = load i32, ptr %5, align 4, !dbg !233
  %55 = sext i32 %54 to i128, !dbg !233
  store i128 %55, ptr %14, align 16, !dbg !232
  %56 = load i128, ptr %14, align 16, !dbg !234
  %57 = mul nsw i128 %56, 2, !dbg !235
  %58 = sitofp i128 %57 to x86_fp80, !dbg !234
  store x86_fp80 %58, ptr getelementptr inbounds (%struct.P, ptr @p, i32 0, i32 1), align 1, !dbg !236
    #dbg_declare(ptr %15, !237, !DIExpression(), !238)
  %59 = load i32, ptr %5, align 4, !dbg !239
  %60 = zext i32 %59 to i64, !dbg !240
  %61 = call ptr @llvm.stacksave.p0(), !dbg !240
  store ptr %61, ptr %16, align 8, !dbg !240
  %62 = alloca i8, i64 %60, align 16, !dbg !240
  store i64 %60, ptr %17, align 8, !dbg !240
    #dbg_declare(ptr %17, !241, !DIExpression(), !195)
    #dbg_declare(ptr %62, !243, !DIExpression(), !247)
  %63 = getelementptr inbounds i8, ptr %62, i64 0, !dbg !248
  store i8 5, ptr %63, align 16, !dbg !249
  %64 = invoke noundef i32 @"_ZZ4mainENK3$_0clEi"(ptr noundef nonnull align 1 dereferenceable(1) %15, i32 noundef 3)
          to label %65 unwind label %106, !dbg !250

65:                                               ; preds = %53
  %66 = load i32, ptr %5, align 4, !dbg !251
  %67 = call noundef i32 @_Z4jumpi(i32 noundef %66), !dbg !252
  %68 = add nsw i32 %64, %67, !dbg !253
  %69 = load i32, ptr %5, align 4, !dbg !254
  %70 = call noundef i32 @_Z6choosejd(i32 noundef %69, double noundef 2.500000e+00), !dbg !255
  %71 = add nsw i32 %68, %70, !dbg !256
  %72 = load x86_fp80, ptr getelementptr inbounds (%struct.P, ptr @p, i32 0, i32 1), align 1, !dbg !257
  %73 = fptosi x86_fp80 %72 to i32, !dbg !258
  %74 = add nsw i32 %71, %73, !dbg !259
  %75 = getelementptr inbounds i8, ptr %62, i64 0, !dbg !260
  %76 = load i8, ptr %75, align 16, !dbg !260
  %77 = sext i8 %76 to i32, !dbg !260
  %78 = add nsw i32 %74, %77, !dbg !261
  %79 = call ptr @__tsan_memset(ptr %19, i32 0, i64 64), !dbg !262
  %80 = getelementptr inbounds %struct.Big, ptr %19, i32 0, i32 0, !dbg !263
  call void @_Z6copied3Big(ptr dead_on_unwind writable sret(%struct.Big) align 8 %18, ptr noundef byval(%struct.Big) align 8 %19), !dbg !262
  %81 = getelementptr inbounds %struct.Big, ptr %18, i32 0, i32 0, !dbg !264
  %82 = getelementptr inbounds [8 x i64], ptr %81, i64 0, i64 0, !dbg !262
  %83 = load i64, ptr %82, align 8, !dbg !262
  %84 = trunc i64 %83 to i32, !dbg !262
  %85 = add nsw i32 %78, %84, !dbg !265
  %86 = call noundef <4 x float> @_Z5lanesDv4_fS_(<4 x float> noundef <float 1.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00>, <4 x float> noundef <float 2.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00>), !dbg !266
  store <4 x float> %86, ptr %20, align 16, !dbg !266
  %87 = load <4 x float>, ptr %20, align 16, !dbg !266
  %88 = extractelement <4 x float> %87, i32 0, !dbg !266
  %89 = fptosi float %88 to i32, !dbg !266
  %90 = add nsw i32 %85, %89, !dbg !267
  store i32 %90, ptr %4, align 4, !dbg !268
  %91 = load ptr, ptr %16, align 8, !dbg !269
  call void @llvm.stackrestore.p0(ptr %91), !dbg !269
  call void @_ZN7DerivedD2Ev(ptr noundef nonnull align 8 dereferenceable(20) %7) #13, !dbg !269
  %92 = load i32, ptr %4, align 4, !dbg !269
  call void @__tsan_func_exit(), !dbg !269
  ret i32 %92, !dbg !269

93:                                               ; preds = %39
  %94 = load ptr, ptr %10, align 8, !dbg !218
  %95 = call ptr @__cxa_begin_catch(ptr %94) #13, !dbg !218
  invoke void @__cxa_rethrow() #16
          to label %119 unwind label %97, !dbg !270

96:                                               ; preds = %26
  br label %53, !dbg !218

97:                                               ; preds = %93
  %98 = landingpad { ptr, i32 }
          cleanup, !dbg !271
  %99 = extractvalue { ptr, i32 } %98, 0, !dbg !271
  store ptr %99, ptr %10, align 8, !dbg !271
  %100 = extractvalue { ptr, i32 } %98, 1, !dbg !271
  store i32 %100, ptr %11, align 4, !dbg !271
  invoke void @__cxa_end_catch()
          to label %101 unwind label %116, !dbg !221

101:                                              ; preds = %97
  br label %110, !dbg !221

102:                                              ; preds = %43
  %103 = landingpad { ptr, i32 }
          cleanup, !dbg !272
  %104 = extractvalue { ptr, i32 } %103, 0, !dbg !272
  store ptr %104, ptr %10, align 8, !dbg !272
  %105 = extractvalue { ptr, i32 } %103, 1, !dbg !272
  store i32 %105, ptr %11, align 4, !dbg !272
  call void @__cxa_end_catch() #13, !dbg !227
  br label %110, !dbg !227

106:                                              ; preds = %53
  %107 = landingpad { ptr, i32 }
          cleanup, !dbg !269
  %108 = extractvalue { ptr, i32 } %107, 0, !dbg !269
  store ptr %108, ptr %10, align 8, !dbg !269
  %109 = extractvalue { ptr, i32 } %107, 1, !dbg !269
  store i32 %109, ptr %11, align 4, !dbg !269
  br label %110, !dbg !269

110:                                              ; preds = %106, %102, %101
  call void @_ZN7DerivedD2Ev(ptr noundef nonnull align 8 dereferenceable(20) %7) #13, !dbg !269
  br label %111, !dbg !269

111:                                              ; preds = %110
  %112 = load ptr, ptr %10, align 8, !dbg !269
  %113 = load i32, ptr %11, align 4, !dbg !269
  %114 = insertvalue { ptr, i32 } poison, ptr %112, 0, !dbg !269
  %115 = insertvalue { ptr, i32 } %114, i32 %113, 1, !dbg !269
  call void @__tsan_func_exit(), !dbg !269
  resume { ptr, i32 } %115, !dbg !269

116:                                              ; preds = %97
  %117 = landingpad { ptr, i32 }
          catch ptr null, !dbg !221
  %118 = extractvalue { ptr, i32 } %117, 0, !dbg !221
  call void @__clang_call_terminate(ptr %118) #17, !dbg !221
  unreachable, !dbg !221

119:                                              ; preds = %93, %32
  unreachable
}

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define linkonce_odr dso_local void @_ZN7DerivedC2Ev(ptr noundef nonnull align 8 dereferenceable(20) %0) unnamed_addr #0 comdat align 2 !dbg !273 {
  %2 = call ptr @llvm.returnaddress(i32 0), !dbg !277
  call void @__tsan_func_entry(ptr %2), !dbg !277
  %3 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
    #dbg_declare(ptr %3, !278, !DIExpression(), !277)
  %4 = load ptr, ptr %3, align 8
  call void @_ZN4BaseC2Ev(ptr noundef nonnull align 8 dereferenceable(12) %4) #13, !dbg !279
  call void @__tsan_vptr_update(ptr %4, ptr getelementptr inbounds inrange(-16, 24) ({ [5 x ptr] }, ptr @_ZTV7Derived, i32 0, i32 0, i32 2)), !dbg !279
  store ptr getelementptr inbounds inrange(-16, 24) ({ [5 x ptr] }, ptr @_ZTV7Derived, i32 0, i32 0, i32 2), ptr %4, align 8, !dbg !279, !tbaa !207
  call void @__tsan_func_exit(), !dbg !279
  ret void, !dbg !279
}

declare ptr @__cxa_allocate_exception(i64)

declare void @__cxa_throw(ptr, ptr, ptr)

; Function Attrs: nounwind memory(none)
declare i32 @llvm.eh.typeid.for.p0(ptr) #5

declare ptr @__cxa_begin_catch(ptr)

declare void @__cxa_rethrow()

declare void @__cxa_end_catch()

; Function Attrs: noinline noreturn nounwind uwtable
define linkonce_odr hidden void @__clang_call_terminate(ptr noundef %0) #6 comdat {
  %2 = call ptr @llvm.returnaddress(i32 0)
  call void @__tsan_func_entry(ptr %2)
  %3 = call ptr @__cxa_begin_catch(ptr %0) #13
  call void @_ZSt9terminatev() #17
  unreachable
}

declare void @_ZSt9terminatev()

declare i32 @printf(ptr noundef, ...) #7

; Function Attrs: nocallback nofree nosync nounwind willreturn
declare ptr @llvm.stacksave.p0() #8

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define internal noundef i32 @"_ZZ4mainENK3$_0clEi"(ptr noundef nonnull align 1 dereferenceable(1) %0, i32 noundef %1) #0 align 2 !dbg !88 {
  %3 = call ptr @llvm.returnaddress(i32 0), !dbg !280
  call void @__tsan_func_entry(ptr %3), !dbg !280
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
    #dbg_declare(ptr %4, !281, !DIExpression(), !280)
  store i32 %1, ptr %5, align 4
    #dbg_declare(ptr %5, !283, !DIExpression(), !284)
  %6 = load ptr, ptr %4, align 8
  %7 = load i32, ptr %5, align 4, !dbg !285
  %8 = call align 8 ptr @llvm.threadlocal.address.p0(ptr align 8 @tl), !dbg !286
  call void @__tsan_read8(ptr %8), !dbg !286
  %9 = load i64, ptr %8, align 8, !dbg !286
  %10 = trunc i64 %9 to i32, !dbg !286
  %11 = add nsw i32 %7, %10, !dbg !287
  %12 = load i32, ptr @"_ZZZ4mainENK3$_0clEiE1z", align 4, !dbg !288
  %13 = add nsw i32 %12, %11, !dbg !288
  call void @__tsan_write4(ptr @"_ZZZ4mainENK3$_0clEiE1z"), !dbg !288
  store i32 %13, ptr @"_ZZZ4mainENK3$_0clEiE1z", align 4, !dbg !288
  call void @__tsan_func_exit(), !dbg !289
  ret i32 %13, !dbg !289
}

; Function Attrs: nocallback nofree nosync nounwind willreturn
declare void @llvm.stackrestore.p0(ptr) #8

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define linkonce_odr dso_local void @_ZN7DerivedD2Ev(ptr noundef nonnull align 8 dereferenceable(20) %0) unnamed_addr #0 comdat align 2 !dbg !290 {
  %2 = call ptr @llvm.returnaddress(i32 0), !dbg !292
  call void @__tsan_func_entry(ptr %2), !dbg !292
  %3 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
    #dbg_declare(ptr %3, !293, !DIExpression(), !292)
  %4 = load ptr, ptr %3, align 8
  call void @_ZN4BaseD2Ev(ptr noundef nonnull align 8 dereferenceable(12) %4) #13, !dbg !294
  call void @__tsan_func_exit(), !dbg !296
  ret void, !dbg !296
}

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define linkonce_odr dso_local void @_ZN7DerivedD0Ev(ptr noundef nonnull align 8 dereferenceable(20) %0) unnamed_addr #0 comdat align 2 !dbg !297 {
  %2 = call ptr @llvm.returnaddress(i32 0), !dbg !298
  call void @__tsan_func_entry(ptr %2), !dbg !298
  %3 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
    #dbg_declare(ptr %3, !299, !DIExpression(), !298)
  %4 = load ptr, ptr %3, align 8
  call void @_ZN7DerivedD2Ev(ptr noundef nonnull align 8 dereferenceable(20) %4) #13, !dbg !300
  call void @_ZdlPvm(ptr noundef %4, i64 noundef 24) #15, !dbg !300
  call void @__tsan_func_exit(), !dbg !300
  ret void, !dbg !300
}

; Function Attrs: mustprogress noinline nounwind optnone sanitize_thread uwtable
define linkonce_odr dso_local void @_ZN4BaseC2Ev(ptr noundef nonnull align 8 dereferenceable(12) %0) unnamed_addr #0 comdat align 2 !dbg !301 {
  %2 = call ptr @llvm.returnaddress(i32 0), !dbg !303
  call void @__tsan_func_entry(ptr %2), !dbg !303
  %3 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
    #dbg_declare(ptr %3, !304, !DIExpression(), !303)
  %4 = load ptr, ptr %3, align 8
  call void @__tsan_vptr_update(ptr %4, ptr getelementptr inbounds inrange(-16, 24) ({ [5 x ptr] }, ptr @_ZTV4Base, i32 0, i32 0, i32 2)), !dbg !305
  store ptr getelementptr inbounds inrange(-16, 24) ({ [5 x ptr] }, ptr @_ZTV4Base, i32 0, i32 0, i32 2), ptr %4, align 8, !dbg !305, !tbaa !207
  call void @__tsan_func_exit(), !dbg !305
  ret void, !dbg !305
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull) #10

; Function Attrs: noinline uwtable
define weak_odr hidden noundef ptr @_ZTW2tl() #11 comdat {
  %1 = call ptr @llvm.returnaddress(i32 0)
  call void @__tsan_func_entry(ptr %1)
  %2 = call align 8 ptr @llvm.threadlocal.address.p0(ptr align 8 @tl)
  call void @__tsan_func_exit()
  ret ptr %2
}

declare void @__tsan_init()

; Function Attrs: nounwind uwtable
define internal void @tsan.module_ctor() #12 {
  call void @__tsan_init()
  ret void
}

; Function Attrs: nounwind
declare void @__tsan_func_entry(ptr) #13

; Function Attrs: nounwind
declare void @__tsan_func_exit() #13

; Function Attrs: nounwind
declare void @__tsan_write1(ptr) #13

; Function Attrs: nounwind
declare void @__tsan_read4(ptr) #13

; Function Attrs: nounwind
declare void @__tsan_write4(ptr) #13

; Function Attrs: nounwind
declare i32 @__tsan_atomic32_fetch_add(ptr, i32, i32) #13

; Function Attrs: nounwind
declare void @__tsan_read8(ptr) #13

; Function Attrs: nounwind
declare void @__tsan_write8(ptr) #13

; Function Attrs: nounwind
declare void @__tsan_vptr_update(ptr, ptr) #13

; Function Attrs: nounwind
declare void @__tsan_vptr_read(ptr) #13

; Function Attrs: nounwind
declare ptr @__tsan_memcpy(ptr, ptr, i64) #13

; Function Attrs: nounwind
declare ptr @__tsan_memset(ptr, i32, i64) #13

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(none)
declare ptr @llvm.returnaddress(i32 immarg) #14

attributes #0 = { nounwind }
attributes #1 = { nounwind }
attributes #2 = { nounwind }
attributes #3 = { nounwind }
attributes #4 = { nounwind }
attributes #5 = { nounwind }
attributes #6 = { nounwind }
attributes #7 = { nounwind }
attributes #8 = { nounwind }
attributes #9 = { nounwind }
attributes #10 = { nounwind }
attributes #11 = { nounwind }
attributes #12 = { nounwind }
attributes #13 = { nounwind }
attributes #14 = { nounwind }
attributes #15 = { nounwind }
attributes #16 = { nounwind }
attributes #17 = { nounwind }

!llvm.dbg.cu = !{!2}
!llvm.linker.options = !{}
!llvm.module.flags = !{!100, !101, !102, !103, !104, !105, !106}
!llvm.ident = !{!107}

!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "count", linkageName: "_ZN7Derived5countE", scope: !2, file: !3, line: 4, type: !6, isLocal: false, isDefinition: true, declaration: !54)
!2 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !3, producer: "clang version 19.1.7", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, enums: !4, retainedTypes: !10, globals: !24, splitDebugInlining: false, nameTableKind: None)
!3 = !DIFile(filename: "every.cpp", directory: "/home/me")
!4 = !{!5}
!5 = !DICompositeType(tag: DW_TAG_enumeration_type, name: "E", file: !3, line: 10, baseType: !6, size: 32, flags: DIFlagEnumClass, elements: !7, identifier: "_ZTS1E")
!6 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!7 = !{!8, !9}
!8 = !DIEnumerator(name: "A", value: 0)
!9 = !DIEnumerator(name: "B", value: 5)
!10 = !{!6, !11, !12, !19}
!11 = !DIBasicType(name: "char", size: 8, encoding: DW_ATE_signed_char)
!12 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Big", file: !3, line: 15, size: 512, flags: DIFlagTypePassByValue, elements: !13, identifier: "_ZTS3Big")
!13 = !{!14}
!14 = !DIDerivedType(tag: DW_TAG_member, name: "a", scope: !12, file: !3, line: 15, baseType: !15, size: 512)
!15 = !DICompositeType(tag: DW_TAG_array_type, baseType: !16, size: 512, elements: !17)
!16 = !DIBasicType(name: "long", size: 64, encoding: DW_ATE_signed)
!17 = !{!18}
!18 = !DISubrange(count: 8)
!19 = !DIDerivedType(tag: DW_TAG_typedef, name: "v4", file: !3, line: 13, baseType: !20)
!20 = !DICompositeType(tag: DW_TAG_array_type, baseType: !21, size: 128, flags: DIFlagVector, elements: !22)
!21 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)
!22 = !{!23}
!23 = !DISubrange(count: 4)
!24 = !{!0, !25, !60, !62, !64, !73, !80, !86}
!25 = !DIGlobalVariableExpression(var: !26, expr: !DIExpression())
!26 = distinct !DIGlobalVariable(name: "calls", scope: !27, file: !3, line: 7, type: !6, isLocal: true, isDefinition: true)
!27 = distinct !DISubprogram(name: "f", linkageName: "_ZN7Derived1fEv", scope: !28, file: !3, line: 7, type: !56, scopeLine: 7, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, declaration: !55, retainedNodes: !59)
!28 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Derived", file: !3, line: 3, size: 192, flags: DIFlagTypePassByReference | DIFlagNonTrivial, elements: !29, vtableHolder: !31)
!29 = !{!30, !46, !47, !49, !54, !55}
!30 = !DIDerivedType(tag: DW_TAG_inheritance, scope: !28, baseType: !31, extraData: i32 0)
!31 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Base", file: !3, line: 2, size: 128, flags: DIFlagTypePassByReference | DIFlagNonTrivial, elements: !32, vtableHolder: !31)
!32 = !{!33, !38, !39, !43}
!33 = !DIDerivedType(tag: DW_TAG_member, name: "_vptr$Base", scope: !3, file: !3, baseType: !34, size: 64, flags: DIFlagArtificial)
!34 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !35, size: 64)
!35 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "__vtbl_ptr_type", baseType: !36, size: 64)
!36 = !DISubroutineType(types: !37)
!37 = !{!6}
!38 = !DIDerivedType(tag: DW_TAG_member, name: "b", scope: !31, file: !3, line: 2, baseType: !6, size: 32, offset: 64)
!39 = !DISubprogram(name: "~Base", scope: !31, file: !3, line: 2, type: !40, scopeLine: 2, containingType: !31, virtualIndex: 0, flags: DIFlagPrototyped, spFlags: DISPFlagVirtual)
!40 = !DISubroutineType(types: !41)
!41 = !{null, !42}
!42 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !31, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!43 = !DISubprogram(name: "f", linkageName: "_ZN4Base1fEv", scope: !31, file: !3, line: 2, type: !44, scopeLine: 2, containingType: !31, virtualIndex: 2, flags: DIFlagPrototyped, spFlags: DISPFlagVirtual)
!44 = !DISubroutineType(types: !45)
!45 = !{!6, !42}
!46 = !DIDerivedType(tag: DW_TAG_member, name: "a", scope: !28, file: !3, line: 3, baseType: !6, size: 3, offset: 96, flags: DIFlagBitField, extraData: i64 96)
!47 = !DIDerivedType(tag: DW_TAG_member, name: "c", scope: !28, file: !3, line: 3, baseType: !48, size: 5, offset: 99, flags: DIFlagBitField, extraData: i64 96)
!48 = !DIBasicType(name: "unsigned int", size: 32, encoding: DW_ATE_unsigned)
!49 = !DIDerivedType(tag: DW_TAG_member, scope: !28, file: !3, line: 3, baseType: !50, size: 32, offset: 128)
!50 = distinct !DICompositeType(tag: DW_TAG_union_type, scope: !28, file: !3, line: 3, size: 32, flags: DIFlagExportSymbols | DIFlagTypePassByValue, elements: !51, identifier: "_ZTSN7DerivedUt_E")
!51 = !{!52, !53}
!52 = !DIDerivedType(tag: DW_TAG_member, name: "u", scope: !50, file: !3, line: 3, baseType: !6, size: 32)
!53 = !DIDerivedType(tag: DW_TAG_member, name: "v", scope: !50, file: !3, line: 3, baseType: !21, size: 32)
!54 = !DIDerivedType(tag: DW_TAG_variable, name: "count", scope: !28, file: !3, line: 3, baseType: !6, flags: DIFlagStaticMember)
!55 = !DISubprogram(name: "f", linkageName: "_ZN7Derived1fEv", scope: !28, file: !3, line: 3, type: !56, scopeLine: 3, containingType: !28, virtualIndex: 2, flags: DIFlagPrototyped, spFlags: DISPFlagVirtual)
!56 = !DISubroutineType(types: !57)
!57 = !{!6, !58}
!58 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !28, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!59 = !{}
!60 = !DIGlobalVariableExpression(var: !61, expr: !DIExpression())
!61 = distinct !DIGlobalVariable(name: "tl", scope: !2, file: !3, line: 8, type: !16, isLocal: false, isDefinition: true)
!62 = !DIGlobalVariableExpression(var: !63, expr: !DIExpression())
!63 = distinct !DIGlobalVariable(name: "at", scope: !2, file: !3, line: 9, type: !6, isLocal: false, isDefinition: true)
!64 = !DIGlobalVariableExpression(var: !65, expr: !DIExpression())
!65 = distinct !DIGlobalVariable(name: "tab", scope: !66, file: !3, line: 11, type: !69, isLocal: true, isDefinition: true)
!66 = distinct !DISubprogram(name: "jump", linkageName: "_Z4jumpi", scope: !3, file: !3, line: 11, type: !67, scopeLine: 11, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !59)
!67 = !DISubroutineType(types: !68)
!68 = !{!6, !6}
!69 = !DICompositeType(tag: DW_TAG_array_type, baseType: !70, size: 128, elements: !71)
!70 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: null, size: 64)
!71 = !{!72}
!72 = !DISubrange(count: 2)
!73 = !DIGlobalVariableExpression(var: !74, expr: !DIExpression())
!74 = distinct !DIGlobalVariable(name: "p", scope: !2, file: !3, line: 18, type: !75, isLocal: false, isDefinition: true)
!75 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "P", file: !3, line: 17, size: 136, flags: DIFlagTypePassByValue, elements: !76, identifier: "_ZTS1P")
!76 = !{!77, !78}
!77 = !DIDerivedType(tag: DW_TAG_member, name: "c", scope: !75, file: !3, line: 17, baseType: !11, size: 8)
!78 = !DIDerivedType(tag: DW_TAG_member, name: "l", scope: !75, file: !3, line: 17, baseType: !79, size: 128, offset: 8)
!79 = !DIBasicType(name: "long double", size: 128, encoding: DW_ATE_float)
!80 = !DIGlobalVariableExpression(var: !81, expr: !DIExpression())
!81 = distinct !DIGlobalVariable(scope: null, file: !3, line: 23, type: !82, isLocal: true, isDefinition: true)
!82 = !DICompositeType(tag: DW_TAG_array_type, baseType: !83, size: 48, elements: !84)
!83 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !11)
!84 = !{!85}
!85 = !DISubrange(count: 6)
!86 = !DIGlobalVariableExpression(var: !87, expr: !DIExpression())
!87 = distinct !DIGlobalVariable(name: "z", scope: !88, file: !3, line: 27, type: !6, isLocal: true, isDefinition: true)
!88 = distinct !DISubprogram(name: "operator()", linkageName: "_ZZ4mainENK3$_0clEi", scope: !89, file: !3, line: 27, type: !95, scopeLine: 27, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition, unit: !2, declaration: !99, retainedNodes: !59)
!89 = distinct !DICompositeType(tag: DW_TAG_class_type, scope: !90, file: !3, line: 27, size: 8, flags: DIFlagTypePassByValue | DIFlagNonTrivial, elements: !59)
!90 = distinct !DISubprogram(name: "main", scope: !3, file: !3, line: 19, type: !91, scopeLine: 19, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !59)
!91 = !DISubroutineType(types: !92)
!92 = !{!6, !6, !93}
!93 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !94, size: 64)
!94 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !11, size: 64)
!95 = !DISubroutineType(types: !96)
!96 = !{!6, !97, !6}
!97 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !98, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!98 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !89)
!99 = !DISubprogram(name: "operator()", scope: !89, file: !3, line: 27, type: !95, scopeLine: 27, flags: DIFlagPublic | DIFlagPrototyped, spFlags: DISPFlagLocalToUnit)
!100 = !{i32 7, !"Dwarf Version", i32 5}
!101 = !{i32 2, !"Debug Info Version", i32 3}
!102 = !{i32 1, !"wchar_size", i32 4}
!103 = !{i32 8, !"PIC Level", i32 2}
!104 = !{i32 7, !"PIE Level", i32 2}
!105 = !{i32 7, !"uwtable", i32 2}
!106 = !{i32 7, !"frame-pointer", i32 2}
!107 = !{!"clang version 19.1.7"}
!108 = distinct !DISubprogram(name: "~Base", linkageName: "_ZN4BaseD2Ev", scope: !31, file: !3, line: 5, type: !40, scopeLine: 5, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, declaration: !39, retainedNodes: !59)
!109 = !DILocalVariable(name: "this", arg: 1, scope: !108, type: !110, flags: DIFlagArtificial | DIFlagObjectPointer)
!110 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !31, size: 64)
!111 = !DILocation(line: 0, scope: !108)
!112 = !DILocation(line: 5, column: 17, scope: !108)
!113 = distinct !DISubprogram(name: "~Base", linkageName: "_ZN4BaseD0Ev", scope: !31, file: !3, line: 5, type: !40, scopeLine: 5, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, declaration: !39, retainedNodes: !59)
!114 = !DILocation(line: 0, scope: !113)
!115 = !DILocalVariable(name: "this", arg: 1, scope: !113, type: !110, flags: DIFlagArtificial | DIFlagObjectPointer)
!116 = !DILocation(line: 5, column: 15, scope: !113)
!117 = !DILocation(line: 5, column: 17, scope: !113)
!118 = distinct !DISubprogram(name: "f", linkageName: "_ZN4Base1fEv", scope: !31, file: !3, line: 6, type: !44, scopeLine: 6, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, declaration: !43, retainedNodes: !59)
!119 = !DILocation(line: 0, scope: !118)
!120 = !DILocalVariable(name: "this", arg: 1, scope: !118, type: !110, flags: DIFlagArtificial | DIFlagObjectPointer)
!121 = !DILocation(line: 6, column: 24, scope: !118)
!122 = !DILocation(line: 6, column: 17, scope: !118)
!123 = !DILocation(line: 0, scope: !27)
!124 = !DILocalVariable(name: "this", arg: 1, scope: !27, type: !125, flags: DIFlagArtificial | DIFlagObjectPointer)
!125 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !28, size: 64)
!126 = !DILocation(line: 7, column: 43, scope: !27)
!127 = !DILocation(line: 7, column: 47, scope: !27)
!128 = !DILocation(line: 7, column: 49, scope: !27)
!129 = !DILocation(line: 7, column: 61, scope: !27)
!130 = !DILocation(line: 7, column: 54, scope: !27)
!131 = !DILocation(line: 0, scope: !66)
!132 = !DILocalVariable(name: "n", arg: 1, scope: !66, file: !3, line: 11, type: !6)
!133 = !DILocation(line: 11, column: 14, scope: !66)
!134 = !DILocation(line: 11, column: 62, scope: !66)
!135 = !DILocation(line: 11, column: 58, scope: !66)
!136 = !DILocation(line: 11, column: 52, scope: !66)
!137 = !DILabel(scope: !66, name: "x", file: !3, line: 11)
!138 = !DILocation(line: 11, column: 66, scope: !66)
!139 = !DILocation(line: 11, column: 76, scope: !66)
!140 = !DILocation(line: 11, column: 69, scope: !66)
!141 = !DILabel(scope: !66, name: "y", file: !3, line: 11)
!142 = !DILocation(line: 11, column: 79, scope: !66)
!143 = !DILocation(line: 11, column: 82, scope: !66)
!144 = !DILocation(line: 11, column: 92, scope: !66)
!145 = distinct !DISubprogram(name: "choose", linkageName: "_Z6choosejd", scope: !3, file: !3, line: 12, type: !146, scopeLine: 12, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !59)
!146 = !DISubroutineType(types: !147)
!147 = !{!6, !48, !148}
!148 = !DIBasicType(name: "double", size: 64, encoding: DW_ATE_float)
!149 = !DILocalVariable(name: "n", arg: 1, scope: !145, file: !3, line: 12, type: !48)
!150 = !DILocation(line: 12, column: 21, scope: !145)
!151 = !DILocalVariable(name: "d", arg: 2, scope: !145, file: !3, line: 12, type: !148)
!152 = !DILocation(line: 12, column: 31, scope: !145)
!153 = !DILocation(line: 12, column: 44, scope: !145)
!154 = !DILocation(line: 12, column: 36, scope: !145)
!155 = !DILocation(line: 12, column: 69, scope: !156)
!156 = distinct !DILexicalBlock(scope: !145, file: !3, line: 12, column: 47)
!157 = !DILocation(line: 12, column: 57, scope: !156)
!158 = !DILocation(line: 12, column: 80, scope: !156)
!159 = !DILocation(line: 12, column: 106, scope: !156)
!160 = !DILocation(line: 12, column: 108, scope: !156)
!161 = !DILocation(line: 12, column: 114, scope: !156)
!162 = !DILocation(line: 12, column: 116, scope: !156)
!163 = !DILocation(line: 12, column: 122, scope: !156)
!164 = !DILocation(line: 12, column: 124, scope: !156)
!165 = !DILocation(line: 12, column: 99, scope: !156)
!166 = !DILocation(line: 12, column: 131, scope: !145)
!167 = distinct !DISubprogram(name: "lanes", linkageName: "_Z5lanesDv4_fS_", scope: !3, file: !3, line: 14, type: !168, scopeLine: 14, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !59)
!168 = !DISubroutineType(types: !169)
!169 = !{!19, !19, !19}
!170 = !DILocalVariable(name: "a", arg: 1, scope: !167, file: !3, line: 14, type: !19)
!171 = !DILocation(line: 14, column: 13, scope: !167)
!172 = !DILocalVariable(name: "b", arg: 2, scope: !167, file: !3, line: 14, type: !19)
!173 = !DILocation(line: 14, column: 19, scope: !167)
!174 = !DILocalVariable(name: "c", scope: !167, file: !3, line: 14, type: !19)
!175 = !DILocation(line: 14, column: 27, scope: !167)
!176 = !DILocation(line: 14, column: 31, scope: !167)
!177 = !DILocation(line: 14, column: 35, scope: !167)
!178 = !DILocation(line: 14, column: 33, scope: !167)
!179 = !DILocation(line: 14, column: 45, scope: !167)
!180 = !DILocation(line: 14, column: 43, scope: !167)
!181 = !DILocation(line: 14, column: 82, scope: !167)
!182 = !DILocation(line: 14, column: 85, scope: !167)
!183 = !DILocation(line: 14, column: 58, scope: !167)
!184 = !DILocation(line: 14, column: 51, scope: !167)
!185 = distinct !DISubprogram(name: "copied", linkageName: "_Z6copied3Big", scope: !3, file: !3, line: 16, type: !186, scopeLine: 16, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !59)
!186 = !DISubroutineType(types: !187)
!187 = !{!12, !12}
!188 = !DILocalVariable(name: "b", arg: 1, scope: !185, file: !3, line: 16, type: !12)
!189 = !DILocation(line: 16, column: 16, scope: !185)
!190 = !DILocation(line: 16, column: 23, scope: !185)
!191 = !DILocation(line: 16, column: 21, scope: !185)
!192 = !DILocation(line: 16, column: 27, scope: !185)
!193 = !DILocation(line: 16, column: 38, scope: !185)
!194 = !DILocation(line: 16, column: 31, scope: !185)
!195 = !DILocation(line: 0, scope: !90)
!196 = !DILocalVariable(name: "argc", arg: 1, scope: !90, file: !3, line: 19, type: !6)
!197 = !DILocation(line: 19, column: 14, scope: !90)
!198 = !DILocalVariable(name: "argv", arg: 2, scope: !90, file: !3, line: 19, type: !93)
!199 = !DILocation(line: 19, column: 27, scope: !90)
!200 = !DILocalVariable(name: "d", scope: !90, file: !3, line: 20, type: !28)
!201 = !DILocation(line: 20, column: 11, scope: !90)
!202 = !DILocalVariable(name: "base", scope: !90, file: !3, line: 21, type: !110)
!203 = !DILocation(line: 21, column: 9, scope: !90)
!204 = !DILocation(line: 22, column: 33, scope: !205)
!205 = distinct !DILexicalBlock(scope: !90, file: !3, line: 22, column: 7)
!206 = !DILocation(line: 22, column: 39, scope: !205)
!207 = !{!208, !208, i64 0}
!208 = !{!"vtable pointer", !209, i64 0}
!209 = !{!"Simple C++ TBAA"}
!210 = !DILocation(line: 22, column: 9, scope: !205)
!211 = !DILocation(line: 22, column: 67, scope: !212)
!212 = distinct !DILexicalBlock(scope: !205, file: !3, line: 22, column: 67)
!213 = !DILocation(line: 22, column: 72, scope: !212)
!214 = !DILocation(line: 22, column: 67, scope: !205)
!215 = !DILocation(line: 22, column: 77, scope: !212)
!216 = !DILocation(line: 22, column: 83, scope: !212)
!217 = !DILocation(line: 31, column: 1, scope: !205)
!218 = !DILocation(line: 22, column: 89, scope: !205)
!219 = !DILocalVariable(name: "x", scope: !90, file: !3, line: 23, type: !6)
!220 = !DILocation(line: 23, column: 14, scope: !90)
!221 = !DILocation(line: 23, column: 71, scope: !222)
!222 = distinct !DILexicalBlock(scope: !90, file: !3, line: 23, column: 62)
!223 = !DILocation(line: 23, column: 35, scope: !224)
!224 = distinct !DILexicalBlock(scope: !90, file: !3, line: 23, column: 17)
!225 = !DILocation(line: 23, column: 38, scope: !224)
!226 = !DILocation(line: 23, column: 19, scope: !224)
!227 = !DILocation(line: 23, column: 48, scope: !224)
!228 = !DILocation(line: 24, column: 3, scope: !90)
!229 = !{i64 1175}
!230 = !DILocalVariable(name: "w", scope: !90, file: !3, line: 25, type: !231)
!231 = !DIBasicType(name: "__int128", size: 128, encoding: DW_ATE_signed)
!232 = !DILocation(line: 25, column: 12, scope: !90)
!233 = !DILocation(line: 25, column: 16, scope: !90)
!234 = !DILocation(line: 26, column: 9, scope: !90)
!235 = !DILocation(line: 26, column: 11, scope: !90)
!236 = !DILocation(line: 26, column: 7, scope: !90)
!237 = !DILocalVariable(name: "add", scope: !90, file: !3, line: 27, type: !89)
!238 = !DILocation(line: 27, column: 8, scope: !90)
!239 = !DILocation(line: 28, column: 12, scope: !90)
!240 = !DILocation(line: 28, column: 3, scope: !90)
!241 = !DILocalVariable(name: "__vla_expr0", scope: !90, type: !242, flags: DIFlagArtificial)
!242 = !DIBasicType(name: "unsigned long", size: 64, encoding: DW_ATE_unsigned)
!243 = !DILocalVariable(name: "buf", scope: !90, file: !3, line: 28, type: !244)
!244 = !DICompositeType(tag: DW_TAG_array_type, baseType: !11, elements: !245)
!245 = !{!246}
!246 = !DISubrange(count: !241)
!247 = !DILocation(line: 28, column: 8, scope: !90)
!248 = !DILocation(line: 29, column: 3, scope: !90)
!249 = !DILocation(line: 29, column: 10, scope: !90)
!250 = !DILocation(line: 30, column: 10, scope: !90)
!251 = !DILocation(line: 30, column: 24, scope: !90)
!252 = !DILocation(line: 30, column: 19, scope: !90)
!253 = !DILocation(line: 30, column: 17, scope: !90)
!254 = !DILocation(line: 30, column: 39, scope: !90)
!255 = !DILocation(line: 30, column: 32, scope: !90)
!256 = !DILocation(line: 30, column: 30, scope: !90)
!257 = !DILocation(line: 30, column: 59, scope: !90)
!258 = !DILocation(line: 30, column: 57, scope: !90)
!259 = !DILocation(line: 30, column: 50, scope: !90)
!260 = !DILocation(line: 30, column: 63, scope: !90)
!261 = !DILocation(line: 30, column: 61, scope: !90)
!262 = !DILocation(line: 30, column: 77, scope: !90)
!263 = !DILocation(line: 30, column: 87, scope: !90)
!264 = !DILocation(line: 30, column: 91, scope: !90)
!265 = !DILocation(line: 30, column: 70, scope: !90)
!266 = !DILocation(line: 30, column: 103, scope: !90)
!267 = !DILocation(line: 30, column: 96, scope: !90)
!268 = !DILocation(line: 30, column: 3, scope: !90)
!269 = !DILocation(line: 31, column: 1, scope: !90)
!270 = !DILocation(line: 23, column: 64, scope: !222)
!271 = !DILocation(line: 31, column: 1, scope: !222)
!272 = !DILocation(line: 31, column: 1, scope: !224)
!273 = distinct !DISubprogram(name: "Derived", linkageName: "_ZN7DerivedC2Ev", scope: !28, file: !3, line: 3, type: !274, scopeLine: 3, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, declaration: !276, retainedNodes: !59)
!274 = !DISubroutineType(types: !275)
!275 = !{null, !58}
!276 = !DISubprogram(name: "Derived", scope: !28, type: !274, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: 0)
!277 = !DILocation(line: 0, scope: !273)
!278 = !DILocalVariable(name: "this", arg: 1, scope: !273, type: !125, flags: DIFlagArtificial | DIFlagObjectPointer)
!279 = !DILocation(line: 3, column: 8, scope: !273)
!280 = !DILocation(line: 0, scope: !88)
!281 = !DILocalVariable(name: "this", arg: 1, scope: !88, type: !282, flags: DIFlagArtificial | DIFlagObjectPointer)
!282 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !98, size: 64)
!283 = !DILocalVariable(name: "x", arg: 2, scope: !88, file: !3, line: 27, type: !6)
!284 = !DILocation(line: 27, column: 22, scope: !88)
!285 = !DILocation(line: 27, column: 53, scope: !88)
!286 = !DILocation(line: 27, column: 62, scope: !88)
!287 = !DILocation(line: 27, column: 55, scope: !88)
!288 = !DILocation(line: 27, column: 50, scope: !88)
!289 = !DILocation(line: 27, column: 41, scope: !88)
!290 = distinct !DISubprogram(name: "~Derived", linkageName: "_ZN7DerivedD2Ev", scope: !28, file: !3, line: 3, type: !274, scopeLine: 3, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, declaration: !291, retainedNodes: !59)
!291 = !DISubprogram(name: "~Derived", scope: !28, type: !274, containingType: !28, virtualIndex: 0, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: DISPFlagVirtual)
!292 = !DILocation(line: 0, scope: !290)
!293 = !DILocalVariable(name: "this", arg: 1, scope: !290, type: !125, flags: DIFlagArtificial | DIFlagObjectPointer)
!294 = !DILocation(line: 3, column: 8, scope: !295)
!295 = distinct !DILexicalBlock(scope: !290, file: !3, line: 3, column: 8)
!296 = !DILocation(line: 3, column: 8, scope: !290)
!297 = distinct !DISubprogram(name: "~Derived", linkageName: "_ZN7DerivedD0Ev", scope: !28, file: !3, line: 3, type: !274, scopeLine: 3, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, declaration: !291, retainedNodes: !59)
!298 = !DILocation(line: 0, scope: !297)
!299 = !DILocalVariable(name: "this", arg: 1, scope: !297, type: !125, flags: DIFlagArtificial | DIFlagObjectPointer)
!300 = !DILocation(line: 3, column: 8, scope: !297)
!301 = distinct !DISubprogram(name: "Base", linkageName: "_ZN4BaseC2Ev", scope: !31, file: !3, line: 2, type: !40, scopeLine: 2, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, declaration: !302, retainedNodes: !59)
!302 = !DISubprogram(name: "Base", scope: !31, type: !40, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: 0)
!303 = !DILocation(line: 0, scope: !301)
!304 = !DILocalVariable(name: "this", arg: 1, scope: !301, type: !110, flags: DIFlagArtificial | DIFlagObjectPointer)
!305 = !DILocation(line: 2, column: 8, scope: !301)
