require_relative 'stormring'

class Split < Storm::BasicBolt
  def process(tup)
    tup.values[0].split(' ').each { |word| emit([word]) }
  end
end

Split.new.run
