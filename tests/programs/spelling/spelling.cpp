// A dictionary that whoever asks it first loads, and two threads that look a word up.
//
// What is wrong: it counts as ready before the first word is in it. The other thread then does not wait
// for the lock under which the words are added.
//
// expect kind: order-violation
// expect cause: size_t n = count_.load();
// expect interference: count_.fetch_add(1);
// expect also: ready_.store(true);

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Dictionary {
public:
    bool knows(const std::string &word)
    {
        if (!ready_.load())
            load();
        size_t n = count_.load();
        for (size_t i = 0; i < n; i++)
            if (words_[i] == word)
                return true;
        return false;
    }

private:
    void load()
    {
        std::lock_guard<std::mutex> hold(loading_);
        if (ready_.load())
            return;
        ready_.store(true);
        for (const char *word : {"lock", "wait", "post", "join"})
            add(word);
    }

    void add(const char *word)
    {
        words_[count_.load()] = word;
        count_.fetch_add(1);
    }

    std::mutex loading_;
    std::atomic<bool> ready_{false};
    std::atomic<size_t> count_{0};
    std::vector<std::string> words_ = std::vector<std::string>(4);
};

static Dictionary dictionary;

static void check(const char *word)
{
    if (!dictionary.knows(word)) {
        std::fprintf(stderr, "'%s' is not spelled right\n", word);
        std::_Exit(3);
    }
}

int main()
{
    std::thread editor(check, "join"), printer(check, "wait");

    editor.join();
    printer.join();
    return 0;
}
