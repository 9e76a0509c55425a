// Sorts by std::sort and prints where each element came from; also makes inputs that drive it
// into its heap-sort branch (M. D. McIlroy, "A killer adversary for quicksort", 1999).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

static std::vector<long> killer(int n) {
    const long gas = n;
    std::vector<long> value(n, gas);
    std::vector<int> item(n);
    std::iota(item.begin(), item.end(), 0);
    long solid = 0;
    int candidate = 0;
    std::sort(item.begin(), item.end(), [&](int x, int y) {
        if (value[x] == gas && value[y] == gas) value[x == candidate ? x : y] = solid++;
        if (value[x] == gas) candidate = x;
        else if (value[y] == gas) candidate = y;
        return value[x] < value[y];
    });
    return value;
}

int main(int argc, char **argv) {
    if (argc == 3 && !std::strcmp(argv[1], "killer")) {
        for (long value : killer(std::atoi(argv[2]))) std::printf("%ld ", value);
        std::printf("\n");
        return 0;
    }
    int n;
    while (std::scanf("%d", &n) == 1) {
        std::vector<std::pair<long, int>> rows(n);
        for (int i = 0; i < n; i++) {
            if (std::scanf("%ld", &rows[i].first) != 1) return 1;
            rows[i].second = i;
        }
        std::sort(rows.begin(), rows.end(),
                  [](const auto &a, const auto &b) { return a.first < b.first; });
        for (const auto &row : rows) std::printf("%d ", row.second);
        std::printf("\n");
    }
}
