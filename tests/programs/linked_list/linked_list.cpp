// A linked list that locks itself in every operation.
//
// What is wrong: sum() walks over the list without its lock. When the element is removed that the walk
// stands on, the walk ends there.
//
// After java.util.LinkedList of JDK 1.4 behind Collections.synchronizedList.
//
// expect kind: multi-variable-atomicity-violation
// expect cause: node = node->next;
// expect interference: node->next = nullptr;
// expect also: first->next = node->next;
//
// still wrong: gcc -O0, gcc -O2, clang -O0, clang -O2

#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

struct Node {
    int element;
    Node *next;
};

class LinkedList {
public:
    void add(Node *node)
    {
        std::lock_guard<std::mutex> held(lock);
        node->next = first;
        first = node;
        size++;
    }

    void remove_second()
    {
        std::lock_guard<std::mutex> held(lock);
        Node *node = first->next;
        first->next = node->next;
        node->next = nullptr;
        size--;
    }

    int sum() const
    {
        int sum = 0;
        const Node *node = first;
        while (node != nullptr) {
            sum += node->element;
            node = node->next;
        }
        return sum;
    }

private:
    std::mutex lock;
    Node *first = nullptr;
    int size = 0;
};

static LinkedList list;
static Node nodes[3] = {{1, nullptr}, {2, nullptr}, {3, nullptr}};

int main()
{
    for (Node &node : nodes)
        list.add(&node);

    int sum = 0;
    std::thread adder([&sum] { sum = list.sum(); });
    std::thread remover([] { list.remove_second(); });
    adder.join();
    remover.join();

    std::printf("the sum is %d\n", sum);
    assert(sum == 6 || sum == 4);
    return 0;
}
