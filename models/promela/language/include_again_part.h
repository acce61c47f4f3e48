steps++;
