/*
 * unsnarl_strings.h: read before C++ sources that are compiled for recording.
 *
 * The members of std::string are templates, but before C++20 the headers of libstdc++ say that the library has them compiled
 * already. Calls of those copies are not recorded: other threads could neither see nor interrupt what they do to a string.
 * With this, the headers let each program compile its own.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifdef __cplusplus
#ifdef __has_include
#if __has_include(<bits/c++config.h>)
#include <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
#endif
#endif
