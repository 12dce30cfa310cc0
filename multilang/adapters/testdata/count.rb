require_relative 'stormring'

class Count < Storm::StatefulBolt
  def process(tup)
    word = tup.values[0]
    n = (state[word] || 0) + 1
    state[word] = n
    emit([word, n])
  end
end

Count.new.run
