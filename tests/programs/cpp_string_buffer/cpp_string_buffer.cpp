// A growing string whose operations each lock it, as a class. How long the text is: ./cpp_string_buffer [WORDS].
//
// What is wrong: append() asks the other buffer for its length and then for its characters. Each call
// is safe alone. When the other buffer is erased between the two, the length is out of date.
//
// After the C++ form of java.lang.StringBuffer of JDK 1.4 in the literature on atomicity.
//
// expect kind: atomicity-violation
// expect cause 1: return count_;
// expect cause 2: assert(end <= count_);
// expect interference: count_ -= end - start;

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

class StringBuffer {
public:
    explicit StringBuffer(int capacity)
        : capacity_(capacity), text_(new char[static_cast<size_t>(capacity)])
    {
    }
    ~StringBuffer() { delete[] text_; }
    StringBuffer(const StringBuffer &) = delete;
    StringBuffer &operator=(const StringBuffer &) = delete;

    int length()
    {
        std::lock_guard<std::mutex> guard(lock_);
        return count_;
    }

    void add(const char *word)
    {
        std::lock_guard<std::mutex> guard(lock_);
        for (const char *letter = word; *letter != '\0'; letter++) {
            grow(count_ + 1);
            text_[count_] = *letter;
            count_++;
        }
    }

    void erase(int start, int end)
    {
        std::lock_guard<std::mutex> guard(lock_);
        for (int i = end; i < count_; i++)
            text_[start + i - end] = text_[i];
        count_ -= end - start;
    }

    void copy(int start, int end, char *to)
    {
        std::lock_guard<std::mutex> guard(lock_);
        assert(end <= count_);
        for (int i = start; i < end; i++)
            to[i - start] = text_[i];
    }

    void append(StringBuffer &from)
    {
        int length = from.length();
        std::lock_guard<std::mutex> guard(lock_);
        grow(count_ + length);
        from.copy(0, length, text_ + count_);
        count_ += length;
    }

private:
    void grow(int needed)
    {
        if (needed <= capacity_)
            return;
        int capacity = 2 * capacity_ > needed ? 2 * capacity_ : needed;
        char *text = new char[static_cast<size_t>(capacity)];
        for (int i = 0; i < count_; i++)
            text[i] = text_[i];
        delete[] text_;
        text_ = text;
        capacity_ = capacity;
    }

    std::mutex lock_;
    int capacity_;
    int count_ = 0;
    char *text_;
};

int main(int argc, char **argv)
{
    int words = argc > 1 ? std::atoi(argv[1]) : 4;
    StringBuffer line(8);
    StringBuffer page(8);
    for (int i = 0; i < words; i++)
        line.add("abc ");
    page.add("> ");

    std::thread cutter([&line] { line.erase(0, 4); });
    page.append(line);
    cutter.join();

    std::printf("%d letters, then %d\n", page.length(), line.length());
    assert(page.length() == 4 * words + 2 || page.length() == 4 * words - 2);
    return 0;
}
